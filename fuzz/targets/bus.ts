import { inboxPrefix, permissionsFor, subjectOf, subjects, type SubjectName } from '../../src/api/bus/subjects.ts'
import { gatewayInput } from '../../src/api/admin/schemas.ts'
import { modelName } from '../../src/api/admin/names.ts'
import { gatewayIdOf } from '../../src/api/gateway-id.ts'
import { gatewayCertificate } from '../../src/control/joining/cluster-ca.ts'
import { readConnectOptions } from '../../src/bus/broker/handshake.ts'
import { isSignedBy, readUserKey } from '../../src/bus/broker/nkey.ts'
import { Parser } from '../../src/bus/broker/parser.ts'
import { contains, isPublishable, isValidPattern, matches } from '../../src/bus/broker/subjects.ts'
import { verify } from '../../src/bus/nkey.ts'
import { lifeMsOf, readAccount } from '../../src/bus/user-jwt.ts'
import { inPieces } from '../pieces.ts'
import { busSamples } from '../samples.ts'
import { spoiled } from '../spoil.ts'
import { spoiledJson } from '../spoil-json.ts'
import { insist, mayRefuse, type FuzzTarget } from '../target.ts'

const LIMITS = { maxPayloadBytes: 4096, maxControlLineBytes: 512 }
const named = Object.keys(subjects) as SubjectName[]
const PEM =
  '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n'

export const busTargets: readonly FuzzTarget[] = [
  {
    name: 'bus-protocol',
    reads: 'what a client sends to the embedded broker',
    cases: spoiled(
      [
        'CONNECT {"verbose":false}\r\nPING\r\n',
        'PUB a.b re.ply 2\r\nhi\r\n',
        'HPUB a 4 6\r\nheadhi\r\n',
        'SUB a.* q 1\r\nUNSUB 1 5\r\n',
      ],
      ['PUB ', 'HPUB ', 'SUB ', 'UNSUB ', 'CONNECT ', 'PING\r\n', '\r\n', '999999999', '+OK', '-ERR ', ' '],
    ),
    read(bytes) {
      let hasFailed = false
      const parser = new Parser(
        {
          connect: () => {},
          publish(message) {
            insist(message.end - message.bodyStart <= LIMITS.maxPayloadBytes + 2, 'a message that is too long')
            insist(!/[\r\n ]/.test(message.subject), 'a subject with a line break')
          },
          subscribe: (subject, queue, sid) => insist(!/[\r\n ]/.test(subject + queue + sid), 'a line break'),
          unsubscribe: (_, max) => insist(Number.isSafeInteger(max), 'no number'),
          ping: () => insist(!hasFailed, 'went on after a failure'),
          pong: () => {},
          failed: () => (hasFailed = true),
        },
        LIMITS,
      )
      for (const piece of inPieces(bytes)) parser.push(piece)
    },
  },
  {
    name: 'bus-connect',
    reads: 'CONNECT at the embedded broker: options, key, signature',
    cases: spoiledJson([{ verbose: false, name: 'n', nkey: `U${'A'.repeat(55)}`, sig: 'AAAA', protocol: 1 }]),
    read(bytes) {
      const options = readConnectOptions(bytes.toString())
      if (!options) return
      insist(options.name.length <= 128, 'a name that is too long')
      const key = readUserKey(options.nkey)
      insist(!key || !isSignedBy(key, 'nonce', options.signature), 'a wrong signature')
      insist(!verify(options.nkey, 'text', options.signature), 'a wrong signature')
    },
  },
  {
    name: 'bus-subjects',
    reads: 'subjects and patterns of subscriptions, from clients of the broker',
    cases: spoiled(
      ['a.b.c a.*.>', '_INBOX.node.a.> nodes.*.heartbeat', '> *', 'nodes.b.> nodes.a.heartbeat'],
      ['.', '*', '>', ' ', 'nodes', 'a'],
    ),
    read(bytes) {
      const [pattern = '', subject = ''] = bytes.toString('latin1').split(' ')
      if (!isValidPattern(pattern)) return
      const own = permissionsFor('node', 'a')
      const mayHear = own.subscribe.some((outer) => contains(outer, pattern))
      const isHeard = isPublishable(subject) && matches(pattern, subject)
      insist(
        !mayHear || !isHeard || own.subscribe.some((outer) => matches(outer, subject)),
        'heard what is not its own',
      )
    },
  },
  {
    name: 'names-in-subjects',
    reads: 'names of models, nodes and gateways: none becomes part of a subject that means another',
    cases: spoiled(['llama', 'a.b.>', '*', 'nodes.x.heartbeat', `U${'A'.repeat(55)}`], ['.', '*', '>', ' ', '\r\n']),
    read(bytes) {
      const name = bytes.toString()
      // A model is named in messages only; whatever it is called, the subjects are these.
      if (modelName.safeParse(name).success) {
        const message = JSON.stringify({ model_name: name })
        insist(!message.includes('\n'), 'a message of two lines')
        for (const subject of named) insist(isPublishable(subjectOf(subject, 'n1')), 'no subject')
      }
      const { data } = gatewayInput.safeParse({ protocol: 3, public_key: name })
      if (data) insist(isPublishable(`${inboxPrefix('gateway', gatewayIdOf(data.public_key))}.x`), 'an inbox of two')
    },
  },
  {
    name: 'bus-messages',
    reads: 'messages on the bus, from nodes and gateways, on every subject',
    share: 0.5,
    cases: spoiledJson(busSamples),
    read(bytes) {
      let parsed: unknown
      try {
        parsed = JSON.parse(bytes.toString())
      } catch {
        return
      }
      for (const name of named) {
        const subject = subjects[name]
        subject.message.safeParse(parsed)
        if ('reply' in subject) subject.reply.safeParse(parsed)
      }
    },
  },
  {
    name: 'bus-credentials',
    reads: 'JWTs, files with seeds of accounts, and keys that gateways want signed',
    share: 0.2,
    cases: spoiled(
      ['eyJ0.eyJleHAiOjIsImlhdCI6MX0.sig', `SA${'A'.repeat(56)}\nA${'B'.repeat(55)}`, PEM],
      ['.', '\n', 'SA', '-----BEGIN '],
    ),
    read(bytes) {
      const text = bytes.toString()
      const lifeMs = lifeMsOf(text)
      insist(lifeMs === undefined || lifeMs > 0, 'a life that is over')
      mayRefuse(() => readAccount(text, 'file'))
      mayRefuse(() => gatewayCertificate('secret', text, 0))
    },
  },
]
