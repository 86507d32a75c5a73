import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ReplicaStartMessage, StopTarget } from '../../api/bus/messages.ts'
import { AppError } from '../../platform/errors.ts'
import { until } from '../../../test/support/until.ts'
import { aStart, aWorker, type WorkerScene } from '../../../test/support/worker/worker-scene.ts'
import { replicasMeant } from './stop-target.ts'

const models = ['a', 'b#1', 'c/d']
const key = fc.record({ model_name: fc.constantFrom(...models), replica_index: fc.nat(2) })
const command = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('start' as const), key, stubborn: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('repeat' as const), nth: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('stop one' as const), nth: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('stop key' as const), key, isLate: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('stop model' as const), model: fc.constantFrom(...models) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const), nth: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pause' as const), turns: fc.nat(30) }) },
)
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never

/**
 * What should run after all of it: of each key the newest that was started, unless it was stopped. A crash is not undone
 * by the worker, so those are out, too; which process a crash hits is known only when it happens.
 */
class Wanted {
  readonly all: { spec: ReplicaStartMessage }[] = []
  readonly #out = new Set<string>()

  start(spec: ReplicaStartMessage): void {
    for (const { spec: other } of this.all) {
      if (other.model_name === spec.model_name && other.replica_index === spec.replica_index) this.#out.add(other.id)
    }
    this.all.push({ spec })
  }

  stop(target: StopTarget): void {
    for (const { spec } of replicasMeant(target, this.all)) this.#out.add(spec.id)
  }

  crash(id: string): void {
    this.#out.add(id)
  }

  ids(): string[] {
    return this.all.map(({ spec }) => spec.id).filter((id) => !this.#out.has(id))
  }
}

test('500 random starts, stops and crashes end with exactly the wanted processes', async () => {
  const commands = fc.sample(fc.array(command, { minLength: 500, maxLength: 500 }), { numRuns: 1 })[0]!
  const worker = await aWorker()
  const wanted = new Wanted()
  for (const one of commands) await carryOut(one, worker, wanted)

  await until(() => {
    const states = worker.supervisor.report().filter(({ state }) => state !== 'failed')
    return states.every(({ state }) => state === 'ready') && states.length === wanted.ids().length
  })
  const running = worker.supervisor.report().filter(({ state }) => state === 'ready')
  expect(running.map(({ id }) => id).toSorted()).toEqual(wanted.ids().toSorted())
  await until(() => worker.pids().length === wanted.ids().length)
  expect(new Set(running.map(({ id }) => worker.supervisor.find(id)!.port)).size).toBe(running.length)
  await worker.end()
  expect(worker.pids()).toEqual([])
}, 120_000)

async function carryOut(one: Command, worker: WorkerScene, wanted: Wanted): Promise<void> {
  const { supervisor } = worker
  const nth = <T>(list: readonly T[], n: number): T | undefined => list[n % (list.length || 1)]
  const stop = (target: StopTarget): void => {
    wanted.stop(target)
    void supervisor.stop({ target, force: false, wait_ms: 0 })
  }
  switch (one.do) {
    case 'start': {
      const spec = aStart({ ...one.key, engine: one.stubborn === 0 ? 'stubborn' : 'light' })
      supervisor.start(spec)
      return wanted.start(spec)
    }
    case 'repeat': {
      // What comes twice or late does nothing, or is refused.
      const spec = nth(wanted.all, one.nth)?.spec
      try {
        if (spec) supervisor.start(spec)
      } catch (error) {
        expect(error).toBeInstanceOf(AppError)
      }
      return
    }
    case 'stop one': {
      const spec = nth(wanted.all, one.nth)?.spec
      return spec && stop({ what: 'replica', id: spec.id, generation: spec.generation })
    }
    case 'stop key': {
      const named = `${one.key.model_name}#${one.key.replica_index}`
      // A late one names only what there was a while ago.
      const newest = wanted.all.at(one.isLate ? -10 : -1)?.spec.generation ?? 0
      return stop({ what: 'key', key: named, not_after: newest })
    }
    case 'stop model':
      return stop({ what: 'model', model_name: one.model, not_after: wanted.all.at(-1)?.spec.generation ?? 0 })
    case 'crash': {
      const ready = supervisor.report().filter(({ state }) => state === 'ready')
      const { id } = nth(ready, one.nth) ?? {}
      if (id === undefined) return
      wanted.crash(id)
      return killed(supervisor.find(id)!.pid!)
    }
    case 'pause':
      for (let i = 0; i < one.turns; i += 1) await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

/** It may have crashed a moment ago, and its end not been noticed yet. */
function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    expect(error).toMatchObject({ code: 'ESRCH' })
  }
}
