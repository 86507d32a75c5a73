import fc from 'fast-check'
import { inboxPrefix, subjectOf, subjects, type SubjectName } from '../../src/api/bus/subjects.ts'
import { aHeartbeat, anEngine, aReport } from '../../test/support/builders.ts'
import { busSamples } from '../samples.ts'
import { spoiled } from '../spoil.ts'
import { spoiledJson } from '../spoil-json.ts'

/** Something that the hostile node says. */
export interface HostileMessage {
  subject: string
  payload: Uint8Array
  /** Where it would have the answer. */
  reply: string | undefined
  /** With headers, or as what it hears from then on. */
  how: 'plain' | 'headers' | 'subscribe'
}

export interface Attacker {
  /** Its id, and that of another node. */
  own: string
  other: string
  bootId: string
  /** What it says that it can run. */
  engine: string
}

const names = Object.keys(subjects) as SubjectName[]
const KIB = 1024

/**
 * What a node says that wants to harm: spoiled and oversized heartbeats, heartbeats that lie, any message on any subject, its
 * own and those of `other`; and any subject for the answer.
 */
export function hostileMessages({ own, other, bootId, engine }: Attacker): fc.Arbitrary<HostileMessage> {
  const subjectsOfAll = names.flatMap((name) => [subjectOf(name, own), subjectOf(name, other), subjectOf(name)])
  const inboxes = ['control', 'gateway', 'node'].flatMap((role) =>
    [own, other, 'x'].map((id) => `${inboxPrefix(role as 'node', id)}.${'x'.repeat(22)}.y`),
  )
  const anySubject = fc.constantFrom(...subjectsOfAll, ...inboxes, '$SYS.REQ.SERVER.PING', 'a')
  const heartbeat = fc.constant(subjectOf('heartbeat', own))
  const reply = fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constant(`${inboxPrefix('node', own)}.mine`) },
    { weight: 1, arbitrary: anySubject },
  )
  const beat = aHeartbeat({ boot_id: bootId, replicas: [aReport()], engines: [anEngine({ name: engine })] })
  const lies = fc
    .record({ seq: fc.nat(1_000_000), id: fc.uuid(), generation: fc.nat(), free: fc.nat() })
    .map(({ seq, id, generation, free }) =>
      Buffer.from(
        JSON.stringify({ ...beat, seq: seq + 1, available_ram: free, replicas: [aReport({ id, generation })] }),
      ),
    )
  const any = spoiledJson([...busSamples, { part: 0 }, { gateway: 'g', seq: 1, counts: { r: 1 } }])
  const large = fc.constantFrom(...LARGE)
  const say = (
    subject: fc.Arbitrary<string>,
    payload: fc.Arbitrary<Uint8Array>,
    how: HostileMessage['how'] = 'plain',
  ): fc.Arbitrary<HostileMessage> => fc.record({ subject, payload, reply, how: fc.constant(how) })
  return fc.oneof(
    { weight: 160, arbitrary: say(heartbeat, spoiledJson([beat])) },
    { weight: 80, arbitrary: say(heartbeat, lies) },
    { weight: 80, arbitrary: say(anySubject, any) },
    { weight: 20, arbitrary: say(heartbeat, any, 'headers') },
    { weight: 20, arbitrary: say(heartbeat, spoiled(['{"boot_id":"b"}'], ['{', '}', '"'])) },
    { weight: 1, arbitrary: say(fc.oneof(heartbeat, anySubject), large) },
    {
      weight: 4,
      arbitrary: say(fc.constantFrom('>', 'nodes.*.>', '_INBOX.>', subjectOf('replicaStart', other)), any, 'subscribe'),
    },
  )
}

/** Up to what a bus takes. */
const LARGE = [
  Buffer.from(JSON.stringify({ ...aHeartbeat(), replicas: Array.from({ length: 120_000 }, () => ({})) })),
  Buffer.from(JSON.stringify({ ...aHeartbeat(), replicas: Array.from({ length: 9000 }, () => ({})) })),
  Buffer.from(JSON.stringify({ ...aHeartbeat(), boot_id: 'x'.repeat(500 * KIB) })),
  Buffer.from('['.repeat(500 * KIB)),
  Buffer.from(`{"seq":${'9'.repeat(500 * KIB)}}`),
  Buffer.from(`{${Array.from({ length: 40_000 }, (_, i) => `"${i}":1`).join(',')}}`),
  Buffer.alloc(1024 * KIB, 0x20),
  Buffer.alloc(1024 * KIB, 0xff),
]
