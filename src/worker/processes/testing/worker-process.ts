import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { systemClock } from '../../../platform/run/clock.ts'
import { adoptEngine } from '../adopt-engine.ts'
import type { EngineHooks, EngineProcess } from '../engine-process.ts'
import { readIdentity } from '../identity-file.ts'
import { startEngine } from '../start-engine.ts'
import { startWatchdog, type Watchdog } from '../watchdog.ts'
import type { Order, Word } from './test-worker.ts'

// Run by tests as a process of its own, to be killed: takes orders as JSON lines and tells what happens in the same way.

const engines = new Map<string, EngineProcess>()
let watchdog: Watchdog | undefined

createInterface({ input: process.stdin }).on('line', (line) => void obey(JSON.parse(line) as Order))

async function obey(order: Order): Promise<void> {
  if (order.do === 'watch') {
    watchdog = startWatchdog({ folder: order.folder, graceMs: order.graceMs, clock: systemClock })
    say({ say: 'watching', pid: watchdog.pid! })
  } else if (order.do === 'start') {
    const { argv, env = {}, folder, isHeld = false } = order
    const onSpawned = async ({ pid }: { pid: number }): Promise<void> => {
      say({ say: 'spawned', name: order.name, pid })
      if (isHeld) await new Promise(() => {})
    }
    const command = { argv, env: { ...process.env, ...env }, cwd: '/', folder: join(folder, order.name) }
    follow(order.name, await startEngine(command, { ...hooks(order), onSpawned }))
    say({ say: 'started', name: order.name })
    if (order.thenDie) process.kill(process.pid, 'SIGKILL')
  } else if (order.do === 'adopt') {
    const folder = join(order.folder, order.name)
    const identity = readIdentity(folder)
    const engine = identity && adoptEngine(identity, folder, hooks(order))
    if (engine) follow(order.name, engine)
    say({ say: engine ? 'adopted' : 'missed', name: order.name })
  } else if (order.do === 'stop') {
    const { signal = 'SIGTERM', killAfterMs = 5000 } = order
    await engines.get(order.name)?.stop({ signal, killAfterMs })
    say({ say: 'stopped', name: order.name })
  } else {
    if (order.leave) for (const engine of engines.values()) engine.leave()
    if (order.inOrder) await watchdog?.done()
    process.exit(0)
  }
}

/** Lines go into a file where it matters that each one is told before the next one is read, whenever we are killed. */
function hooks({ name, linesTo }: { name: string; linesTo?: string }): EngineHooks {
  const file = linesTo === undefined ? undefined : openSync(linesTo, 'a')
  return {
    clock: systemClock,
    onLine(stream, line) {
      if (file === undefined) say({ say: 'line', name, stream, line })
      else writeSync(file, `${line}\n`)
    },
  }
}

function follow(name: string, engine: EngineProcess): void {
  engines.set(name, engine)
  void engine.exited.then((exit) => say({ say: 'exited', name, exit }))
}

function say(word: Word): void {
  process.stdout.write(`${JSON.stringify(word)}\n`)
}
