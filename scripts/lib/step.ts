import { runChild } from './child.ts'

export interface Step {
  name: string
  command: string
  args: readonly string[]
}

/** Runs one step and prints one line about it; what the step printed is shown only if it failed. */
export async function runStep({ name, command, args }: Step): Promise<boolean> {
  const startedMs = performance.now()
  const { code, output } = await runChild(command, args)
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  if (code === 0) {
    console.log(`✓ ${name} (${seconds} s)`)
    return true
  }
  console.log(`✗ ${name} (${seconds} s, exit code ${code}: ${[command, ...args].join(' ')})\n${output.trimEnd()}\n`)
  return false
}
