import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { Cluster } from './support/cluster.ts'
import { startUp } from './support/flotilla.ts'
import { replicaEvents } from './support/store/stored-rows.ts'
import { tempFolder } from './support/temp-folder.ts'

const SIM = fileURLToPath(new URL('../engines/sim/main.ts', import.meta.url))
const GIB = 2 ** 30
/** After so long without a request a model may make room for another. */
const IDLE_MS = 10_500

interface Card {
  gib: number
  /** How long `nvidia-smi` takes. It tells how things are at the end of that. */
  smiMs: number
}

/** A machine with one card, whose `nvidia-smi` counts the engines that run; each model `…-7` takes 7 GiB of it. */
async function aMachine({ gib, smiMs }: Card): Promise<Cluster> {
  const folder = tempFolder()
  const data = join(folder, 'data')
  const engine = join(folder, 'engine.mjs')
  writeFileSync(engine, `await import(${JSON.stringify(SIM)})`)
  mkdirSync(join(data, 'engine-profiles'), { recursive: true })
  const profile = {
    name: 'card',
    command: [process.execPath, engine, '--port', '{{port}}', '--model', '{{model}}'],
    options: 'none',
    model: 'none',
    ready: { http: '/health' },
    memory: 'on_load',
    uses: { device: 'gpu', bytes: 0, bytes_option: 'memory_bytes' },
  }
  writeFileSync(join(data, 'engine-profiles', 'card.yaml'), JSON.stringify(profile))
  const taken = `pgrep -fa '${engine}' | sed -n 's/.*--model [a-z]*[0-9]*-\\([0-9]*\\).*/\\1/p' | paste -sd+`
  const smi = `#!/bin/sh
case "$1" in --query-gpu=*) ;; *) exit 0 ;; esac
sleep ${smiMs / 1000}
used=$(( ($(${taken}) + 0) * 1024 ))
echo "0, GPU-1, Pretended ${gib}, ${gib * 1024}, $used, $(( ${gib * 1024} - used ))"
`
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin', 'nvidia-smi'), smi, { mode: 0o755 })
  const PATH = `${join(folder, 'bin')}:${process.env['PATH']}`
  return new Cluster(await startUp({ data, args: ['--node-name', 'thor'], env: { PATH } }), [])
}

test.concurrent.each([
  { what: 'of 7 + 1 + 7 GiB on 16', card: { gib: 16, smiMs: 0 }, idle: ['a0-7', 'a1-1', 'a2-7'] },
  { what: 'of 4 x 7 GiB on 30, read in 0.8 s', card: { gib: 30, smiMs: 800 }, idle: ['a0-7', 'a1-7', 'a2-7', 'a3-7'] },
])('a request for 7 GiB stops one idle model $what', async ({ card, idle }) => {
  const cluster = await aMachine(card)
  for (const name of [...idle, 'new-7']) {
    const options = { memory_bytes: Number(name.split('-')[1]) * GIB }
    await cluster.ask('POST', '/api/models', { name, engine: 'card', options })
  }
  for (const name of idle) expect((await cluster.chat(name)).status, name).toBe(200)
  await sleep(IDLE_MS)
  expect((await cluster.chat('new-7')).status).toBe(200)

  const evicted: string[] = []
  for (const name of idle) {
    const events = await replicaEvents(cluster.frontend.data, name)
    if (events.some(({ action }) => action === 'evicted')) evicted.push(name)
  }
  expect(evicted).toEqual(['a0-7'])
})
