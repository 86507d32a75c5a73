import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onCores } from './processes/child.ts'
import { PATH, requestBody, type Measured, type Work } from './messages.ts'

/** One measurement by wrk, which costs a fifth of what a client in JavaScript does: the core it shares is the upstream's. */
export async function measureWithWrk(folder: string, work: Work & { do: 'measure' }, core?: string): Promise<Measured> {
  const { target, kind, connections, durationMs } = work
  // One of its own for each core: two may start at once.
  const script = join(folder, `wrk${core ?? ''}.lua`)
  writeFileSync(script, scriptOf({ 'content-type': 'application/json', ...target.headers }, requestBody(kind)))
  const seconds = Math.max(1, Math.round(durationMs / 1000))
  const url = `${target.isTls ? 'https' : 'http'}://127.0.0.1:${target.port}${PATH}`
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, url]
  const [first, ...rest] = onCores(core, 'wrk', args)
  const { stdout } = await promisify(execFile)(first, rest)
  const result = /^result (.*)$/m.exec(stdout)?.[1]
  if (result === undefined) throw new Error(`wrk said nothing that is understood:\n${stdout}`)
  return JSON.parse(result) as Measured
}

function scriptOf(headers: Readonly<Record<string, string>>, body: string): string {
  const lines = Object.entries(headers).map(([name, value]) => `wrk.headers[${quote(name)}] = ${quote(value)}`)
  return `
wrk.method = "POST"
wrk.body = ${quote(body)}
${lines.join('\n')}
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('result {"perSecond":%f,"p50Ms":%f,"p99Ms":%f,"failed":%d}\\n',
    (summary.requests - e.status) * 1e6 / summary.duration, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    e.connect + e.read + e.write + e.status + e.timeout))
end
`
}

/** JSON's escapes of what stands here are those of Lua. */
function quote(text: string): string {
  return JSON.stringify(text)
}
