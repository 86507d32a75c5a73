import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KeptWorld } from '../../src/control/turn/world-cache.ts'
import { reconcileOnce, type TurnOutcome } from '../../src/control/turn/turn.ts'
import { openDatabase } from '../../src/store/database.ts'
import type { Database } from '../../src/store/sql.ts'
import { appendEvent } from '../../src/store/nouns/events.ts'
import { acquireLease, type HeldLease } from '../../src/store/nouns/leases.ts'
import { deleteReplica, listReplicas } from '../../src/store/nouns/replicas.ts'
import { bigWorld } from './big-world.ts'
import { storeWorld } from './stored-world.ts'

const EVENTS = 20

export interface TurnTimes {
  /** Everything is read and planned. */
  wholeMs: number
  /** Nothing has happened since the last one. */
  idleMs: number
  /** One replica was lost: it is read, planned, placed and written. */
  eventMs: number
}

/** A leader's turn on SQLite from its beginning to its commit: processor time, of the store's thread as well. */
export async function measureTurns(nodeCount: number): Promise<TurnTimes> {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-bench-'))
  const db = await openDatabase({ file: join(folder, 'flotilla.db') })
  try {
    await storeWorld(db, bigWorld(nodeCount))
    return await measureOn(db)
  } finally {
    await db.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measureOn(db: Database): Promise<TurnTimes> {
  let kept: KeptWorld | undefined
  const turn = async (starts: number): Promise<number> => {
    const lease = await leadAgain(db)
    const before = process.cpuUsage()
    const outcome: TurnOutcome = await reconcileOnce(db, lease, {
      limits: { unreachableAfterMs: 15_000, offlineAfterMs: 60_000 },
      policy: 'spread',
      hearing: undefined,
      answering: [],
      ticks: new Map(),
      loadsOf: () => [],
      wasFrozen: false,
      kept: kept && { ...kept, wholeAtMs: Date.now() },
      ownTouched: () => ({ nodeIds: new Set(), modelNames: new Set() }),
    })
    const { user, system } = process.cpuUsage(before)
    kept = outcome.kept
    const started = outcome.plan.steps.filter(({ kind }) => kind === 'reserve').length
    if (started !== starts) throw new Error(`a turn started ${started} and not ${starts}`)
    return (user + system) / 1000
  }
  const lost = (await listReplicas(db)).filter((_, i) => i % 11 === 0).slice(0, EVENTS)
  const whole = [await turn(0), ((kept = undefined), await turn(0)), ((kept = undefined), await turn(0))]
  const idle: number[] = []
  const event: number[] = []
  for (const replica of lost) {
    idle.push(await turn(0))
    await db.transaction(async (tx) => {
      await deleteReplica(tx, replica)
      const about = { nodeId: replica.nodeId, modelName: replica.modelName }
      await appendEvent(tx, { actor: 'control', action: 'replica.lost', reason: 'it ended', ...about })
    })
    event.push(await turn(1))
  }
  return { wholeMs: low(whole), idleMs: low(idle), eventMs: low(event) }
}

async function leadAgain(db: Database): Promise<HeldLease> {
  const answer = await acquireLease(db, { name: 'leader', owner: 'bench', ttlMs: 60_000 })
  if (!('epoch' in answer)) throw new Error(`${answer.heldBy} leads`)
  return { name: 'leader', owner: 'bench', epoch: answer.epoch }
}

/** That one in ten stays below: others use the machine, and their time is not ours. */
function low(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 10)]!
}
