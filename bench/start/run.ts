import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * How long `flotilla up` takes from nothing to serving, and what it costs while it idles, beside the smallest thing one
 * could compare it with: an empty Node HTTP server. Memory is that of the whole process tree, engine included. Two
 * figures: RSS added up counts Node's program text once per process; "in all" counts the private pages of every process
 * and the shared ones once, which is what the machine really gives.
 */
const ROUNDS = 5
const IDLE_MS = 4000
const root = fileURLToPath(new URL('../..', import.meta.url))

interface Sample {
  startMs: number
  rssMb: number
  inAllMb: number
}

const flotilla: Sample[] = []
const empty: Sample[] = []
// The first start fills the cache of compiled code; "once installed" means after that.
await measureFlotilla()
for (let round = 0; round < ROUNDS; round += 1) {
  flotilla.push(await measureFlotilla())
  empty.push(await measureEmpty())
}
print()

async function measureFlotilla(): Promise<Sample> {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-bench-'))
  const ready = join(folder, 'ready.json')
  const up = [
    'src/main.ts',
    'up',
    '--first-model',
    'sim',
    '--data',
    join(folder, 'data'),
    '--listen',
    '127.0.0.1:0',
    '--ready-file',
    ready,
  ]
  const startedMs = performance.now()
  const child = spawn(process.execPath, [...startFlags(), 'scripts/bootstrap.js', ...up], {
    cwd: root,
    stdio: 'ignore',
  })
  await becomes(() => existsSync(ready) && readFileSync(ready, 'utf8').endsWith('\n'), child)
  const startMs = performance.now() - startedMs
  const { url } = JSON.parse(readFileSync(ready, 'utf8')) as { url: string }
  await answersChat(url)
  const sample = { startMs, ...(await idleMemory(child)) }
  await end(child)
  rmSync(folder, { recursive: true, force: true })
  return sample
}

async function measureEmpty(): Promise<Sample> {
  const program = `require('node:http').createServer((_, r) => r.end()).listen(0, '127.0.0.1', () => process.stdout.write('x'))`
  const startedMs = performance.now()
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')
  const sample = { startMs: performance.now() - startedMs, ...(await idleMemory(child)) }
  await end(child)
  return sample
}

/** The flags that `npm start` gives to Node, so that the same thing is measured. */
function startFlags(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } }
  return scripts.start.split(' ').filter((word) => word.startsWith('--'))
}

async function answersChat(url: string): Promise<void> {
  const body = JSON.stringify({ model: 'sim', max_tokens: 3, messages: [{ role: 'user', content: 'Hello' }] })
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body })
  if (!response.ok) throw new Error(`the first request failed: ${await response.text()}`)
  await response.arrayBuffer()
}

async function idleMemory(child: ChildProcess): Promise<Omit<Sample, 'startMs'>> {
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
  const processes = treeOf(child.pid!).map((pid) => readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))
  const megabytes = (rollup: string, kind: string): number =>
    [...rollup.matchAll(new RegExp(`^${kind}: +(\\d+) kB`, 'gm'))].reduce((sum, match) => sum + Number(match[1]), 0) /
    1024
  const total = (kind: string): number => processes.reduce((sum, rollup) => sum + megabytes(rollup, kind), 0)
  const shared = Math.max(...processes.map((rollup) => megabytes(rollup, 'Shared_\\w+')))
  return { rssMb: total('Rss'), inAllMb: total('Private_\\w+') + shared }
}

function treeOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return [pid, ...children.flatMap((child) => treeOf(Number(child)))]
}

async function becomes(condition: () => boolean, child: ChildProcess): Promise<void> {
  while (!condition()) {
    if (child.exitCode !== null) throw new Error(`flotilla ended with ${child.exitCode}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

function print(): void {
  const rows: [string, keyof Sample, string][] = [
    ['start to serving', 'startMs', 'ms'],
    ['idle memory in all', 'inAllMb', 'MB'],
    ['idle memory, RSS added up', 'rssMb', 'MB'],
  ]
  console.log(`flotilla up (control, gateway, worker, one sim engine) beside an empty Node HTTP server`)
  console.log(`medians of ${ROUNDS} interleaved rounds, Node ${process.versions.node}\n`)
  console.log(`${'what'.padEnd(28)}${'flotilla up'.padStart(14)}${'empty Node'.padStart(14)}${'ratio'.padStart(9)}`)
  for (const [name, field, unit] of rows) {
    const [ours, theirs] = [median(flotilla, field), median(empty, field)]
    const cells = [`${Math.round(ours)} ${unit}`.padStart(14), `${Math.round(theirs)} ${unit}`.padStart(14)]
    console.log(`${name.padEnd(28)}${cells.join('')}${(ours / theirs).toFixed(1).padStart(9)}`)
  }
}

function median(samples: Sample[], field: keyof Sample): number {
  return samples.map((sample) => sample[field]).toSorted((a, b) => a - b)[Math.floor(samples.length / 2)]!
}
