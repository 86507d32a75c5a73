import { LossyOutput } from './lossy-output.ts'

let forLog: LossyOutput | undefined
let forScreen: LossyOutput | undefined

/** stderr of this process, for the log and final messages. Writing to it neither waits nor throws. */
export function stderrOutput(): LossyOutput {
  return (forLog ??= opened(2))
}

/** stdout of a serving process: unlike a command's output, a banner must not block it. */
export function stdoutOutput(): LossyOutput {
  return (forScreen ??= opened(1))
}

/** Writes what is still waiting, as far as the time allows. */
export async function flushOutputs(withinMs: number): Promise<void> {
  await Promise.all([forLog?.flush(withinMs), forScreen?.flush(withinMs)])
}

function opened(fd: 1 | 2): LossyOutput {
  const output = new LossyOutput(fd)
  process.on('exit', () => output.flushNow())
  return output
}
