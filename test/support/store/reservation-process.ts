import { randomUUID } from 'node:crypto'
import { Fleet } from '../../../src/core/placement/fleet.ts'
import { place } from '../../../src/core/placement/place.ts'
import type { Placement } from '../../../src/core/placement/types.ts'
import type { Claim } from '../../../src/core/types.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { listModels } from '../../../src/store/nouns/models.ts'
import { listDecisiveNodes } from '../../../src/store/nouns/nodes.ts'
import { listReplicasOfNode } from '../../../src/store/nouns/replicas.ts'
import { reserveReplica, type Reservation } from '../../../src/store/nouns/reservations.ts'

// Run by tests as one of several processes that place replicas on the same nodes: `node reservation-process.ts <target>`.
// It plans when it is told to, and reserves what it has planned when it is told to, so that all reserve from plans that
// were made when nobody had anything. After that it plans and reserves again, until it has a place or there is none.

/** One replica of this model, on one of these nodes. */
export interface Race {
  modelName: string
  nodeIds: readonly string[]
}

/** How it went: each reservation that was tried, and where it ended. */
export interface RaceEnd {
  tries: { nodeId: string; claim: Claim; reservation: Reservation }[]
  end: { nodeId: string } | { refusals: Extract<Placement, { ok: false }>['refusals'] }
}

export type Order = { plan: Race[] } | 'reserve' | 'end'

/** A race that is tried again more often than there are nodes is not going anywhere. */
const MOST_TRIES = 5

const target = process.argv[2] ?? ''
const db = await openDatabase(target.startsWith('postgres://') ? { url: target } : { file: target })
let planned: { race: Race; placement: Placement }[] = []
process.on('message', (order: Order) => void obey(order).then(answer, fail))
answer('open')

async function obey(order: Order): Promise<'planned' | RaceEnd[] | 'ended'> {
  if (order === 'end') {
    await db.close()
    process.disconnect()
    return 'ended'
  }
  if (order === 'reserve') return Promise.all(planned.map(({ race, placement }) => run(race, placement)))
  planned = await Promise.all(order.plan.map(async (race) => ({ race, placement: await plan(race) })))
  return 'planned'
}

async function plan({ modelName, nodeIds }: Race): Promise<Placement> {
  const nodes = await Promise.all(nodeIds.map((id) => listDecisiveNodes(db, [id])))
  const replicas = await Promise.all(nodeIds.map((id) => listReplicasOfNode(db, id)))
  const models = await listModels(db)
  const model = models.find(({ name }) => name === modelName)!
  const fleet = new Fleet(nodes.flat(), replicas.flat(), models)
  return place({ model, selector: {}, facts: null, learned: [] }, fleet, { policy: 'spread' })
}

async function run(race: Race, first: Placement): Promise<RaceEnd> {
  const tries: RaceEnd['tries'] = []
  for (let placement = first; tries.length < MOST_TRIES; placement = await plan(race)) {
    if (!placement.ok) return { tries, end: { refusals: placement.refusals } }
    const { nodeId, replicaIndex, claim } = placement
    const slot = { id: randomUUID(), nodeId, replicaIndex, claim, modelName: race.modelName }
    const reservation = await db.transaction((tx) =>
      reserveReplica(tx, { ...slot, generation: 1, revision: 'r1', failures: 0 }),
    )
    tries.push({ nodeId, claim, reservation })
    if (reservation.ok) return { tries, end: { nodeId } }
  }
  throw new Error(`no end after ${MOST_TRIES} tries: ${JSON.stringify(tries)}`)
}

function answer(what: unknown): void {
  if (process.connected) process.send!(what)
}

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(1)
}
