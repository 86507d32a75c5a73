import { readFileSync } from 'node:fs'

/** Waits for something to become true, looking often; fails after a minute instead of hanging: busy machines take their time. */
export async function until(condition: () => boolean | Promise<boolean>, limitMs = 60_000): Promise<void> {
  const giveUpMs = Date.now() + limitMs
  while (!(await condition())) {
    if (Date.now() > giveUpMs) throw new Error(`did not become true within ${limitMs} ms: ${condition.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** A process that has ended but that nobody has taken note of yet is not alive. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/^.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}
