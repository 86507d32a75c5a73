import { LossyOutput } from './lossy-output.ts'

let forLog: LossyOutput | undefined
let forScreen: LossyOutput | undefined

/** stderr of this process, for the log and last words. Writing to it neither waits nor throws. */
export function stderrOutput(): LossyOutput {
  return (forLog ??= opened(2))
}

/** stdout of a process that serves: a banner is no reason to wait, as what a command prints is. */
export function stdoutOutput(): LossyOutput {
  return (forScreen ??= opened(1))
}

/** What was said and is not written yet, as far as it can be within this time. */
export async function flushOutputs(withinMs: number): Promise<void> {
  await Promise.all([forLog?.flush(withinMs), forScreen?.flush(withinMs)])
}

function opened(fd: 1 | 2): LossyOutput {
  const output = new LossyOutput(fd)
  process.on('exit', () => output.flushNow())
  return output
}
