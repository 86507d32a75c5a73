import fc from 'fast-check'
import { headers, type NatsConnection } from '@nats-io/transport-node'
import { inboxPrefix, subjectOf, subjects, type SubjectName } from '../../src/api/bus/subjects.ts'
import { connectNats } from '../../src/bus/connect.ts'
import { seedOfBatch } from '../try-cases.ts'
import type { AdmittedNode } from './admit-node.ts'
import { hostileMessages, type HostileMessage } from './messages.ts'

/** A node that wants to harm, on the bus. */
export interface Attack {
  /** Says so many things; false when the bus has not taken them within a minute. */
  say(count: number): Promise<boolean>
  stop(): Promise<void>
}

export interface AttackOptions {
  /** Another node, for which it speaks as well. */
  other: string
  /** What it says that it can run. */
  engine: string
  seed: number
}

const BATCH_WITHIN_MS = 60_000

export async function startAttack(node: AdmittedNode, { other, engine, seed }: AttackOptions): Promise<Attack> {
  const connection = await startHostile(node)
  const arbitrary = hostileMessages({ own: node.id, other, bootId: node.bootId, engine })
  let batch = 0
  return {
    say(count) {
      const sample = fc.sample(arbitrary, { seed: seedOfBatch(seed, (batch += 1)), numRuns: count })
      for (const one of sample) say(connection, one)
      return isThrough(connection)
    },
    stop: () => connection.close(),
  }
}

function say(connection: NatsConnection, { subject, payload, reply, how }: HostileMessage): void {
  if (how === 'subscribe') {
    connection.subscribe(subject, { callback: () => {} }).unsubscribe()
    return
  }
  const extra = how === 'headers' ? { headers: someHeaders() } : {}
  connection.publish(subject, payload, reply === undefined ? extra : { ...extra, reply })
}

function someHeaders(): ReturnType<typeof headers> {
  const made = headers()
  made.set('Nats-Msg-Id', 'x')
  return made
}

/** Answers everything it is asked with junk, twice, and once with more than fits. */
async function startHostile({ id, address }: AdmittedNode): Promise<NatsConnection> {
  const connection = await connectNats(address, 'node', id)
  const answers = [Buffer.from('{"ok":true,"value":{"known_from_seq":"x"}}'), Buffer.alloc(1_000_000, '{"ok":')]
  for (const name of Object.keys(subjects) as SubjectName[]) {
    if (!(subjects[name].to as readonly string[]).includes('node')) continue
    connection.subscribe(subjectOf(name, id), {
      callback: (_, msg) => answers.forEach((answer) => msg.respond(answer)),
    })
  }
  connection.subscribe(`${inboxPrefix('node', id)}.>`, { callback: () => {} })
  return connection
}

/** The server has read all of it. */
async function isThrough(connection: NatsConnection): Promise<boolean> {
  const late = new Promise<false>((resolve) => setTimeout(() => resolve(false), BATCH_WITHIN_MS).unref())
  const done = async (): Promise<true> => {
    // One that was disconnected comes back.
    for (;;) {
      const isFlushed = await connection.flush().then(
        () => true,
        () => false,
      )
      if (isFlushed) return true
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  return Promise.race([done(), late])
}
