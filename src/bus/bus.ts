import {
  AuthorizationError,
  RequestError,
  UserAuthenticationExpiredError,
  type Msg,
  type NatsConnection,
} from '@nats-io/transport-node'
import { z } from 'zod'
import {
  subjectOf,
  subjects,
  type BusRole,
  type EventName,
  type MessageOf,
  type ReplyOf,
  type RequestName,
  type SubjectName,
} from '../api/bus/subjects.ts'
import { AppError, errorTable, messageOf, toAppError, type ErrorCode } from '../platform/errors.ts'
import type { Logger } from '../platform/log.ts'
import { connectNats, type BusAddress } from './connect.ts'

/** The bus as the roles use it: only subjects of the table, only messages that fit their schema. */
export interface Bus {
  /** Fire and forget: while the connection is away the message is lost, and the next one repairs it. */
  publish<N extends EventName>(name: N, message: MessageOf<N>, nodeId?: string): void
  subscribe<N extends EventName>(
    name: N,
    handler: (message: MessageOf<N>, nodeId: string) => void,
    nodeId?: string,
  ): void
  /** Rejects with AppError `unavailable` when nobody answers (in time, or at all), or with the code the other side gave. */
  request<N extends RequestName>(name: N, message: MessageOf<N>, options: RequestOptions): Promise<ReplyOf<N>>
  /** Answers requests. Answering `undefined` stays silent: another process is the one to answer. */
  respond<N extends RequestName>(name: N, handler: Responder<N>, nodeId?: string): void
  onReconnect(callback: () => void): void
  isConnected(): boolean
  /** The server does not let us in, or no longer: asking again with the same credentials is of little use. */
  isRefused(): boolean
  dispose(): Promise<void>
}

/** There is nobody who could have answered; without it somebody was asked and kept silent. */
export class NobodyListensError extends AppError {
  constructor(subject: string, cause?: unknown) {
    super('unavailable', `No answer on the bus to ${subject}: nobody is listening.`, { cause })
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
}

export async function connectBus({ address, role, clientId, log }: BusDeps): Promise<Bus> {
  const connection = await connectNats(address, role, clientId)
  const reconnected: (() => void)[] = []
  let connected = true
  let refused = false
  let expired = false
  void (async () => {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect') {
        // Told once: every failed try to come back is a disconnect, too. A JWT that ended is replaced as a matter of course.
        if (connected) log[expired ? 'debug' : 'warn']({ role }, 'bus: connection lost, reconnecting')
        connected = false
      } else if (status.type === 'reconnect' && !connected) {
        log[expired ? 'debug' : 'info']({ role }, 'bus: connected again')
        connected = true
        refused = expired = false
        for (const callback of reconnected) callback()
      } else if (status.type === 'error') {
        expired ||= status.error instanceof UserAuthenticationExpiredError
        const isNews = !(refused || expired)
        refused ||= status.error instanceof AuthorizationError
        if (isNews) log.warn({ role, error: status.error.message }, 'bus: the server reported an error')
      }
    }
  })()

  const listen = (
    name: SubjectName,
    nodeId: string | undefined,
    onMessage: (message: never, msg: Msg) => void,
  ): void => {
    connection.subscribe(subjectOf(name, nodeId), {
      callback: (error, msg) => {
        if (error) return log.warn({ subject: subjectOf(name, nodeId), error: error.message }, 'bus: cannot listen')
        const message = parse<unknown>(subjects[name].message as z.ZodType, msg)
        if (message.ok) return onMessage(message.value as never, msg)
        log.warn({ subject: msg.subject, error: message.error }, 'bus: dropped a message that does not fit its schema')
        if (msg.reply) answer(msg, { ok: false, error: { code: 'bad_request', message: message.error } })
      },
    })
  }

  return {
    publish(name, message, nodeId) {
      if (!connection.isClosed()) connection.publish(subjectOf(name, nodeId), JSON.stringify(message))
    },
    subscribe(name, handler, nodeId) {
      listen(name, nodeId, (message, msg) => handler(message, msg.subject.split('.')[1] ?? ''))
    },
    async request(name, message, { timeoutMs, nodeId }) {
      const msg = await sendRequest(connection, subjectOf(name, nodeId), JSON.stringify(message), timeoutMs)
      const reply = parse(replySchema(subjects[name].reply), msg)
      if (!reply.ok) throw new AppError('internal', `The answer to ${name} does not fit its schema: ${reply.error}.`)
      if (reply.value.ok) return reply.value.value as never
      const { code, message: text } = reply.value.error
      throw new AppError(code in errorTable ? (code as ErrorCode) : 'internal', text)
    },
    respond(name, handler, nodeId) {
      listen(name, nodeId, (message, msg) => {
        handler(message).then(
          (value) => value !== undefined && answer(msg, { ok: true, value }),
          (thrown: unknown) => {
            const error = toAppError(thrown)
            if (error.code === 'internal') log.error({ err: thrown, subject: msg.subject }, 'bus: a request failed')
            answer(msg, { ok: false, error: { code: error.code, message: error.message } })
          },
        )
      })
    },
    onReconnect: (callback) => void reconnected.push(callback),
    isConnected: () => connected && !connection.isClosed(),
    isRefused: () => refused || connection.isClosed(),
    dispose: () => connection.close(),
  }
}

async function sendRequest(
  connection: NatsConnection,
  subject: string,
  payload: string,
  timeoutMs: number,
): Promise<Msg> {
  try {
    return await connection.request(subject, payload, { timeout: timeoutMs })
  } catch (error) {
    if (error instanceof RequestError && error.isNoResponders()) throw new NobodyListensError(subject, error)
    throw new AppError('unavailable', `No answer on the bus to ${subject}: ${messageOf(error)}.`, { cause: error })
  }
}

const failure = z.object({ ok: z.literal(false), error: z.object({ code: z.string(), message: z.string() }) })

function replySchema(value: z.ZodType): z.ZodType<z.infer<typeof failure> | { ok: true; value: unknown }> {
  return z.union([z.object({ ok: z.literal(true), value }), failure])
}

function answer(msg: Msg, reply: { ok: true; value: unknown } | z.infer<typeof failure>): void {
  msg.respond(JSON.stringify(reply))
}

function parse<T>(schema: z.ZodType<T>, msg: Msg): { ok: true; value: T } | { ok: false; error: string } {
  try {
    const result = schema.safeParse(JSON.parse(msg.string()))
    return result.success ? { ok: true, value: result.data } : { ok: false, error: z.prettifyError(result.error) }
  } catch {
    return { ok: false, error: 'not JSON' }
  }
}
