import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { aDevice, aMachine, aModel, anEngine } from '../../../test/support/builders.ts'
import type { Order, Race, RaceEnd } from '../../../test/support/store/reservation-process.ts'
import type { CreateStore, EmptyStore } from './contract.ts'
import { openDatabase } from '../database.ts'
import type { Database } from '../sql.ts'
import { saveModel } from '../nouns/models.ts'
import { recordHeartbeat } from '../nouns/node-heartbeats.ts'
import { insertNode } from '../nouns/nodes.ts'
import { listReplicas } from '../nouns/replicas.ts'

const GIB = 2 ** 30
const CARD = 24 * GIB
const RAM = 32 * GIB
/** Of each kind of memory a node has room for one of these, and not for two. */
const NEED = 16 * GIB
/** As many as a process has connections to write: all of a batch race at the same time. */
const BATCH = 6

/** What two processes race for; a race has nodes of its own. */
const KINDS = {
  'the last slot': { models: ['small', 'small'], nodes: ['cpu'] },
  'the last memory of a device': { models: ['large', 'other'], nodes: ['gpu'] },
  'the last memory of a device, where another node is free': { models: ['large', 'other'], nodes: ['gpu', 'gpu'] },
  'the last memory of a machine': { models: ['large', 'other'], nodes: ['cpu'] },
} as const
type Kind = keyof typeof KINDS
const kinds = Object.keys(KINDS) as Kind[]

/** Two frontends that both believe to lead, as processes of their own, place on the same nodes at the same moment. */
export function describeReservations(create: CreateStore, races: number): void {
  describe(`two processes race ${races} times`, () => {
    test('for the last of something: one has it, the other is told why and finds another node or nothing', async () => {
      const store = await create()
      onTestFinished(() => store.drop())
      const db = await openDatabase(store.target)
      onTestFinished(() => db.close())
      const kindOf = (race: number): Kind => kinds[race % kinds.length]!
      await furnish(
        db,
        Array.from({ length: races }, (_, race) => kindOf(race)),
      )
      const racers = [await startRacer(store), await startRacer(store)]

      const wins = [0, 0]
      const seen = new Set<Kind>()
      for (let from = 0; from < races; from += BATCH) {
        const batch = Array.from({ length: Math.min(BATCH, races - from) }, (_, i) => from + i)
        const ends = await raceAll(racers, batch, kindOf)
        for (const [i, race] of batch.entries()) {
          const kind = kindOf(race)
          wins[checkRace(kind, [ends[0]![i]!, ends[1]![i]!])]! += 1
          seen.add(kind)
        }
      }
      await Promise.all(racers.map((racer) => end(racer)))
      expect(seen.size).toBe(kinds.length)
      expect(wins[0]! + wins[1]!).toBe(races)
      // Else they did not race at all.
      expect(Math.min(...wins), `won: ${wins.join(' and ')}`).toBeGreaterThan(0)
      await checkClaims(db)
    }, 240_000)
  })
}

async function furnish(db: Database, all: readonly Kind[]): Promise<void> {
  const engines = [anEngine({ uses: { device: 'either' } })]
  const gpu = aDevice({ total_vram: CARD, available_vram: CARD })
  const machine = aMachine({ total_ram: RAM, available_ram: RAM })
  await db.transaction(async (tx) => {
    await saveModel(tx, aModel({ name: 'small', memory: { vram: 0, ram: 1 } }))
    for (const name of ['large', 'other']) await saveModel(tx, aModel({ name, memory: { vram: NEED, ram: 0 } }))
    for (const [race, kind] of all.entries()) {
      for (const [i, type] of KINDS[kind].nodes.entries()) {
        const id = nodeId(race, i)
        const facts = {
          name: id,
          publicKey: id,
          address: '127.0.0.1:1',
          version: '',
          bootId: 'boot1',
          runId: null,
          vramBudget: null,
          tlsFingerprint: null,
        }
        await insertNode(tx, { ...facts, id, nodeType: 'backend', maxReplicasPerModel: 1 }, true)
        const devices = type === 'gpu' ? [gpu] : []
        await recordHeartbeat(tx, { nodeId: id, bootId: 'boot1', runId: null, seq: 1, ...machine, devices, engines })
      }
    }
  })
}

function nodeId(race: number, i: number): string {
  return `n${race}-${i}`
}

async function startRacer({ target }: EmptyStore): Promise<ChildProcess> {
  const script = join(import.meta.dirname, '../../../test/support/store/reservation-process.ts')
  const child = fork(script, ['url' in target ? target.url : target.file], { execArgv: [] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await answerOf(child)
  return child
}

/** All plan before the first one reserves. */
async function raceAll(racers: ChildProcess[], batch: number[], kindOf: (race: number) => Kind): Promise<RaceEnd[][]> {
  const plans = racers.map((racer, who) => {
    const races = batch.map((race): Race => {
      const { models, nodes } = KINDS[kindOf(race)]
      return { modelName: models[who]!, nodeIds: nodes.map((_, i) => nodeId(race, i)) }
    })
    return tell(racer, { plan: races })
  })
  await Promise.all(plans)
  return (await Promise.all(racers.map((racer) => tell(racer, 'reserve')))) as RaceEnd[][]
}

/** Which of the two has won. */
function checkRace(kind: Kind, ends: readonly [RaceEnd, RaceEnd]): number {
  const winners = ends.map(({ tries }) => tries[0]?.reservation.ok)
  expect(
    winners.toSorted((a, b) => Number(a) - Number(b)),
    `${kind}: ${JSON.stringify(ends)}`,
  ).toEqual([false, true])
  const winner = winners.indexOf(true)
  const { tries, end: ended } = ends[1 - winner]!
  const lost = tries[0]!.reservation
  switch (kind) {
    case 'the last slot':
      expect(lost).toEqual({ ok: false, why: 'slot taken' })
      expect(ended).toMatchObject({ refusals: [{ filter: 'slot' }] })
      break
    case 'the last memory of a device':
      expect(lost).toMatchObject({ why: { filter: 'memory', where: 'gpu 0', needed: NEED, available: CARD - NEED } })
      expect(ended).toMatchObject({ refusals: [{ filter: 'memory' }] })
      break
    case 'the last memory of a device, where another node is free':
      expect(lost).toMatchObject({ why: { filter: 'memory', nodeId: tries[0]!.nodeId } })
      expect(tries).toHaveLength(2)
      expect(tries[1]).toMatchObject({ reservation: { ok: true } })
      expect(tries[1]!.nodeId).not.toBe(tries[0]!.nodeId)
      break
    case 'the last memory of a machine':
      expect(lost).toMatchObject({ why: { filter: 'memory', where: 'ram', needed: NEED } })
      expect(ended).toMatchObject({ refusals: [{ filter: 'memory' }] })
  }
  return winner
}

/** What is held fits, whoever has placed it. */
async function checkClaims(db: Database): Promise<void> {
  const byNode = Map.groupBy(await listReplicas(db), ({ nodeId: on }) => on)
  for (const [on, replicas] of byNode) {
    const claims = replicas.map(({ claim }) => claim!)
    const vram = claims.flatMap(({ devices }) => devices).reduce((sum, { bytes }) => sum + bytes, 0)
    const ram = claims.reduce((sum, claim) => sum + claim.ram, 0)
    expect(vram, on).toBeLessThanOrEqual(CARD)
    expect(ram, on).toBeLessThanOrEqual(RAM)
    expect(replicas, on).toHaveLength(1)
  }
}

function tell(racer: ChildProcess, order: Order): Promise<unknown> {
  const answer = answerOf(racer)
  racer.send(order)
  return answer
}

/** Fails when the process ends instead of answering. */
function answerOf(racer: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`a racer ended with ${code}`))
    racer.once('exit', onExit).once('message', (answer) => {
      racer.off('exit', onExit)
      resolve(answer)
    })
  })
}

async function end(racer: ChildProcess): Promise<void> {
  const exited = once(racer, 'exit')
  racer.send('end' satisfies Order)
  expect((await exited)[0]).toBe(0)
}
