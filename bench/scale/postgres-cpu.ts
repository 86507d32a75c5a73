import { readdirSync, readFileSync } from 'node:fs'

/** Processor time in milliseconds of a PostgreSQL on this machine, found by its port: its server and all that it has started. */
export function postgresCpuMs(url: string): number {
  const { port } = new URL(url)
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const server = processes.find((pid) => read(pid, 'cmdline').includes(`port=${port}\0`))
  if (server === undefined) return Number.NaN
  return processes.reduce((sum, pid) => {
    const fields = read(pid, 'stat').split(') ')[1]?.split(' ')
    const isOurs = pid === server || fields?.[1] === server
    // User and system time, in ticks of 10 ms; those of children that have ended are the parent's.
    const ticks = [11, 12, ...(pid === server ? [13, 14] : [])].reduce((all, i) => all + Number(fields?.[i] ?? 0), 0)
    return isOurs ? sum + ticks * 10 : sum
  }, 0)
}

/** Empty for one that has ended meanwhile. */
function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
