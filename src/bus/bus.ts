import { NoRespondersError, type Msg } from '@nats-io/transport-node'
import { z } from 'zod'
import {
  inboxPrefix,
  subjectOf,
  subjects,
  type BusRole,
  type EventName,
  type MessageOf,
  type ReplyOf,
  type RequestName,
  type SubjectName,
} from '../api/bus/subjects.ts'
import { cutText } from '../core/lib/cut-text.ts'
import { systemClock, type Clock } from '../platform/run/clock.ts'
import { AppError, errorTable, messageOf, toAppError, type ErrorCode } from '../platform/errors.ts'
import type { Logger } from '../platform/run/log.ts'
import { RepeatedLines } from '../platform/run/repeated-lines.ts'
import { ConnectionState } from './connection-state.ts'
import { connectNats, type BusAddress } from './connect.ts'
import { Inbox } from './inbox.ts'
import { NodeBudget } from './node-budget.ts'
import { readMessage } from './read-message.ts'

/** The bus as the roles use it: only subjects of the table, only messages that fit their schema. */
export interface Bus {
  /**
   * Fire and forget: while the connection is away the message is lost, and the next one repairs it. So is one that is larger
   * than the server takes, which the log tells.
   */
  publish<N extends EventName>(name: N, message: MessageOf<N>, nodeId?: string): void
  subscribe<N extends EventName>(
    name: N,
    handler: (message: MessageOf<N>, nodeId: string) => void,
    nodeId?: string,
  ): void
  /**
   * Rejects with AppError `unavailable` when no answer comes (in time, or at all), with `too_large` when a message on the bus
   * cannot hold the request, or with the code that the other side gave.
   */
  request<N extends RequestName>(name: N, message: MessageOf<N>, options: RequestOptions): Promise<ReplyOf<N>>
  /** Answers requests. Answering `undefined` stays silent: another process is the one to answer. */
  respond<N extends RequestName>(name: N, handler: Responder<N>, nodeId?: string): void
  onReconnect(callback: () => void): void
  isConnected(): boolean
  /** The server refuses us: asking again with the same credentials is of little use. */
  isRefused(): boolean
  dispose(): Promise<void>
}

/** The subject has no listener. Without this error a listener was asked and stayed silent. */
export class NobodyListensError extends AppError {
  constructor(subject: string, cause?: unknown) {
    super('unavailable', `No answer on the bus to ${subject}: nothing is listening.`, { cause })
  }
}

export interface RequestOptions {
  timeoutMs: number
  nodeId?: string
}
export type Responder<N extends RequestName> = (message: MessageOf<N>) => Promise<ReplyOf<N> | undefined>

export interface BusDeps {
  address: BusAddress
  role: BusRole
  clientId: string
  log: Logger
  clock?: Pick<Clock, 'nowMs'>
}

/** The limit for a server that does not announce one. */
const DEFAULT_MAX_BYTES = 2 ** 20
/** Of an error that goes to the other side, or comes from there. */
const MOST_ERROR_CHARS = 2000

export async function connectBus({ address, role, clientId, log, clock = systemClock }: BusDeps): Promise<Bus> {
  const connection = await connectNats(address, role, clientId)
  const inbox = new Inbox(connection, inboxPrefix(role, clientId))
  const budget = new NodeBudget()
  const lines = new RepeatedLines(clock)
  const state = new ConnectionState({ connection, role, log, lines, onError: (error) => inbox.refused(error) })

  const maxBytes = (): number => connection.info?.max_payload ?? DEFAULT_MAX_BYTES
  const dropped = (subject: string, bytes: number, error: string): void =>
    lines.tell(`dropped ${subject}`, (repeated) =>
      log.warn({ subject, bytes, error, ...repeated }, 'bus: dropped a message that does not fit its schema'),
    )

  /** Answers go to the inbox of a role that may ask, and nowhere else: a message names any subject for its answer. */
  const answer = (name: RequestName, msg: Msg, reply: Reply): void => {
    const to = msg.reply ?? ''
    if (!subjects[name].from.some((asker) => to.startsWith(inboxPrefix(asker, '')))) return
    const bytes = encode(reply)
    connection.publish(to, bytes.length <= maxBytes() ? bytes : encode(tooLargeAnswer(name, bytes.length, maxBytes())))
  }

  const take = (name: SubjectName, msg: Msg, onMessage: (message: never, msg: Msg) => void): void => {
    const { subject, data } = msg
    const nodeId = sendingNode(name, subject)
    const refusal = nodeId === undefined ? undefined : budget.refusal(nodeId, data.length, clock.nowMs())
    if (refusal !== undefined) {
      return lines.tell(`refused ${subject}`, (repeated) =>
        log.warn({ subject, reason: refusal, ...repeated }, 'bus: dropped messages of a node that sends too much'),
      )
    }
    const message = readMessage<unknown>(subjects[name].message, msg.string())
    if (message.ok) return onMessage(message.value as never, msg)
    if (nodeId !== undefined) budget.spoilt(nodeId)
    dropped(subject, data.length, message.error)
    // Events are never answered, even if they name a subject for an answer.
    if (subjects[name].kind === 'request') answer(name as RequestName, msg, failed('bad_request', message.error))
  }

  const listen = (
    name: SubjectName,
    nodeId: string | undefined,
    onMessage: (message: never, msg: Msg) => void,
  ): void => {
    connection.subscribe(subjectOf(name, nodeId), {
      callback(error, msg) {
        if (error) return log.warn({ subject: subjectOf(name, nodeId), error: error.message }, 'bus: cannot listen')
        // An exception here would end the client library's loop, and this process would receive nothing any more.
        try {
          take(name, msg, onMessage)
        } catch (thrown) {
          lines.tell(`failed ${name} ${messageOf(thrown)}`, (repeated) =>
            log.error({ err: thrown, subject: msg.subject, ...repeated }, 'bus: handling a message failed'),
          )
        }
      },
    })
  }

  return {
    publish(name, message, nodeId) {
      if (connection.isClosed()) return
      const bytes = encode(message)
      if (bytes.length <= maxBytes()) return connection.publish(subjectOf(name, nodeId), bytes)
      const why = tooLargeText(`A message ${name}`, bytes.length, maxBytes())
      lines.tell(`too large ${name}`, (repeated) =>
        log.error({ error: why, ...repeated }, 'bus: could not send a message'),
      )
    },
    subscribe(name, handler, nodeId) {
      listen(name, nodeId, (message, msg) => handler(message, msg.subject.split('.')[1] ?? ''))
    },
    async request(name, message, { timeoutMs, nodeId }) {
      const bytes = encode(message)
      if (bytes.length > maxBytes()) {
        throw new AppError('too_large', tooLargeText(`The request ${name}`, bytes.length, maxBytes()))
      }
      const msg = await sendRequest(inbox, subjectOf(name, nodeId), bytes, timeoutMs)
      const reply = readMessage(replySchema(subjects[name].reply), msg.string())
      if (!reply.ok) throw new AppError('internal', `The answer to ${name} does not fit its schema: ${reply.error}.`)
      if (reply.value.ok) return reply.value.value as never
      const { code, message: text } = reply.value.error
      throw new AppError(code in errorTable ? (code as ErrorCode) : 'internal', cutText(text, MOST_ERROR_CHARS))
    },
    respond(name, handler, nodeId) {
      listen(name, nodeId, (message, msg) => {
        void respondWith(handler, message, msg.subject, log)
          .then((reply) => reply && answer(name, msg, reply))
          .catch((thrown: unknown) => log.debug({ error: messageOf(thrown), subject: msg.subject }, 'bus: no answer'))
      })
    },
    onReconnect: (callback) => state.onReconnect(callback),
    isConnected: () => state.isConnected(),
    isRefused: () => state.isRefused(),
    dispose: () => connection.close(),
  }
}

type Reply = { ok: true; value: unknown } | z.infer<typeof failure>

/** What a handler makes of a request; undefined when it leaves the answer to another process. */
async function respondWith<N extends RequestName>(
  handler: Responder<N>,
  message: MessageOf<N>,
  subject: string,
  log: Logger,
): Promise<Reply | undefined> {
  try {
    const value = await handler(message)
    return value === undefined ? undefined : { ok: true, value }
  } catch (thrown) {
    const error = toAppError(thrown)
    if (error.code === 'internal') log.error({ err: thrown, subject }, 'bus: a request failed')
    return failed(error.code, error.message)
  }
}

async function sendRequest(inbox: Inbox, subject: string, payload: Uint8Array, timeoutMs: number): Promise<Msg> {
  try {
    return await inbox.request(subject, payload, timeoutMs)
  } catch (error) {
    if (error instanceof AppError) throw error
    if (error instanceof NoRespondersError) throw new NobodyListensError(subject, error)
    throw new AppError('unavailable', `No answer on the bus to ${subject}: ${messageOf(error)}.`, { cause: error })
  }
}

/** The node that says this, by the subject; undefined for what control or a gateway says. */
function sendingNode(name: SubjectName, subject: string): string | undefined {
  return (subjects[name].from as readonly BusRole[]).includes('node') ? subject.split('.', 2)[1] : undefined
}

const failure = z.object({ ok: z.literal(false), error: z.object({ code: z.string(), message: z.string() }) })

function replySchema(value: z.ZodType): z.ZodType<Reply> {
  return z.discriminatedUnion('ok', [z.object({ ok: z.literal(true), value }), failure])
}

function failed(code: ErrorCode, message: string): z.infer<typeof failure> {
  return { ok: false, error: { code, message: cutText(message, MOST_ERROR_CHARS) } }
}

function tooLargeAnswer(name: RequestName, bytes: number, most: number): Reply {
  return failed('too_large', tooLargeText(`The answer to ${name}`, bytes, most))
}

function tooLargeText(what: string, bytes: number, most: number): string {
  return `${what} has ${bytes} bytes, and a message on the bus holds ${most}.`
}

function encode(message: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(message))
}
