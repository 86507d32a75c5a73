import type { Socket } from 'node:net'
import type { Clock } from '../../platform/run/clock.ts'
import { Connection } from './connection.ts'
import type { BrokerEvent, DisconnectReason, Peer } from './events.ts'
import { defaultConnectOptions, readConnectOptions, type ConnectOptions } from './handshake.ts'
import type { BrokerLimits } from './limits.ts'
import type { Message } from './message.ts'
import type { Postroom } from './outbox.ts'
import { Parser, type Operations, type Problem } from './parser.ts'
import { ReplyLedger, type CompiledPermissions } from './permissions.ts'
import { isPublishable, isValidPattern, MAX_SUBSCRIPTION_TOKENS } from './subjects.ts'
import type { SubscriptionIndex } from './subscriptions.ts'

export interface Subscription {
  readonly client: Client
  readonly sid: string
  readonly subject: string
  readonly queue: string
  /** How a message to `headSubject` starts; kept, because most subscriptions see one subject all the time. */
  headSubject: string
  head: string
  delivered: number
  /** 0 is no end. */
  max: number
  closed: boolean
}

/** What a client needs from its broker. */
export interface Hub {
  readonly limits: BrokerLimits
  readonly clock: Clock
  readonly postroom: Postroom
  readonly subscriptions: SubscriptionIndex<Subscription>
  readonly authRequired: boolean
  /** The user's permissions, if the signature over the nonce is the user's. */
  authenticate(nkey: string, nonce: string, signature: string): CompiledPermissions | undefined
  /** False for the roles of the broker's own process. */
  isMetered(nkey: string): boolean
  route(from: Client, message: Message): void
  report(event: BrokerEvent): void
  /** The client has left; its place is free. */
  left(client: Client): void
  /** The socket is gone. */
  closed(client: Client): void
}

export interface Greeting {
  id: number
  address: string
  nonce: string
  authByMs: number
}

/** One client cannot fill the log: of its violations in this time, the first is reported and the rest are counted. */
const VIOLATION_REPORT_MS = 1_000

/**
 * What one client may and does do, once it has been greeted.
 *
 *     waiting ──CONNECT with valid credentials──▶ taking part ──error, end──▶ gone
 *        └────── anything else, or too late ─────────────────────────────────▲
 *
 * waiting:      only when users are required; the parser lets nothing but CONNECT through.
 * taking part:  all operations. Without users a client starts here, with nats-server's default options.
 * gone:         the parser is stopped and the subscriptions are dropped; the connection may still linger.
 */
export class Client implements Operations {
  readonly #hub: Hub
  readonly #greeting: Greeting
  readonly #connection: Connection
  readonly #parser: Parser
  readonly #subscriptions = new Map<string, Subscription>()
  #options: ConnectOptions = defaultConnectOptions
  #user: string | undefined
  /** Undefined: everything is allowed. */
  #permissions: CompiledPermissions | undefined
  #replies: ReplyLedger | undefined
  #announced = false
  #violationReportedMs = -Infinity
  /** In the chunk at hand, with all else that it is asked to do. */
  #messages = 0
  #violationsUnreported = 0

  constructor(hub: Hub, socket: Socket, greeting: Greeting) {
    this.#hub = hub
    this.#greeting = greeting
    this.#parser = new Parser(this, hub.limits)
    this.#parser.connectFirst = hub.authRequired
    this.#connection = new Connection(socket, hub, {
      data: (chunk) => this.#read(chunk),
      slowConsumer: (pendingBytes) => hub.report({ kind: 'slow consumer', peer: this.#peer(), pendingBytes }),
      leaving: () => this.#leave(),
      closed: (reason, detail) => this.#closed(reason, detail),
    })
    const leftMs = Math.max(0, greeting.authByMs - hub.clock.nowMs())
    const late = (): void => this.#refuse('Authentication Timeout', 'authentication timeout')
    if (hub.authRequired) this.#connection.limitTime(leftMs, late)
    else this.#connection.keepPinging()
  }

  get user(): string | undefined {
    return this.#user
  }

  get wantsNoResponders(): boolean {
    return this.#options.noResponders
  }

  // What the parser calls.

  connect(json: string): void {
    const options = readConnectOptions(json)
    if (!options) return this.#connection.end('protocol error', 'CONNECT options are not valid')
    this.#options = options
    if (options.protocol < 0 || options.protocol > 1) return this.#refuse('invalid client protocol')
    if (options.noResponders && !options.headers) return this.#refuse('no responders requires headers support')
    // A later CONNECT may change the options, but never the user.
    if (this.#parser.connectFirst && !this.#authenticate(options)) return
    if (!this.#announced) this.#hub.report({ kind: 'connected', peer: this.#peer() })
    this.#announced = true
    this.#ok()
  }

  publish(message: Message): void {
    const { subject } = message
    this.#messages += 1
    if (message.headerBytes > 0 && !this.#options.headers) {
      return this.#connection.end('protocol error', 'headers without having asked for them')
    }
    if (this.#options.pedantic && !isPublishable(subject)) this.#say('Invalid Publish Subject')
    if (this.#permissions && !this.#permissions.mayPublish(subject) && !this.#mayAnswer(subject)) {
      return this.#violation('publish', subject, `Permissions Violation for Publish to "${subject}"`)
    }
    if (this.#permissions && message.hasReply && !this.#permissions.mayNameForReply(message.reply)) {
      const text = `Permissions Violation for Publish with Reply of "${message.reply}"`
      return this.#violation('publish', message.reply, text)
    }
    this.#ok()
    this.#hub.route(this, message)
  }

  subscribe(subject: string, queue: string, sid: string): void {
    this.#messages += 1
    if (this.#permissions && !this.#permissions.maySubscribe(subject)) {
      const using = queue === '' ? '' : ` using queue "${queue}"`
      return this.#violation('subscribe', subject, `Permissions Violation for Subscription to "${subject}"${using}`)
    }
    if (!isValidPattern(subject)) return this.#say('Invalid Subject')
    if (subject.split('.', MAX_SUBSCRIPTION_TOKENS + 1).length > MAX_SUBSCRIPTION_TOKENS) {
      return this.#say('subscription subject contains too many tokens')
    }
    // The same id again changes nothing: a client that repeats itself keeps what it has.
    if (this.#subscriptions.has(sid)) return this.#ok()
    if (this.#subscriptions.size >= this.#hub.limits.maxSubscriptions) {
      return this.#say('maximum subscriptions exceeded')
    }
    const head = headOf(subject, sid)
    const counts = { delivered: 0, max: 0, closed: false }
    const subscription = { client: this, sid, subject, queue, headSubject: subject, head, ...counts }
    this.#subscriptions.set(sid, subscription)
    this.#hub.subscriptions.add(subscription)
    this.#ok()
  }

  unsubscribe(sid: string, max: number): void {
    this.#messages += 1
    const subscription = this.#subscriptions.get(sid)
    if (subscription) {
      if (max > subscription.delivered) subscription.max = max
      else this.#drop(subscription)
    }
    this.#ok()
  }

  ping(): void {
    this.#messages += 1
    this.#connection.send('PONG\r\n')
  }

  pong(): void {
    // Any data proves that the client is alive, and the connection has noted that already.
  }

  failed(problem: Problem): void {
    switch (problem) {
      case 'unknown operation':
        return this.#refuse('Unknown Protocol Operation')
      case 'control line too long':
        return this.#refuse('maximum control line exceeded')
      case 'payload too large':
        return this.#refuse('Maximum Payload Violation')
      case 'not connected':
        return this.#authFailure('spoke before CONNECT')
      case 'bad arguments':
      case 'error from client':
        // nats-server says nothing to the client here either.
        return this.#connection.end('protocol error', problem)
    }
  }

  // What the broker calls.

  /** Queues the message; false when this client does not take it. */
  deliver(subscription: Subscription, message: Message, from: Client): boolean {
    if (subscription.closed || (from === this && !this.#options.echo)) return false
    if (this.#replies && message.hasReply) this.#replies.remember(message.reply, this.#hub.clock.nowMs())
    subscription.delivered += 1
    if (subscription.delivered === subscription.max) this.#drop(subscription)
    if (subscription.headSubject !== message.subject) {
      subscription.headSubject = message.subject
      subscription.head = headOf(message.subject, subscription.sid)
    }
    if (message.headerBytes === 0) this.#connection.sendMessage(subscription.head, message.tail)
    else if (this.#options.headers) this.#connection.sendMessage(`H${subscription.head}`, message.tail)
    else this.#connection.sendMessage(subscription.head + message.bareHead, message.bareBody)
    return true
  }

  /** Tells the requester that the subject has no listener, through the subscription on which it awaits the reply. */
  answerNoResponders(reply: string, subscription: Subscription): void {
    this.#connection.send(`HMSG ${reply} ${subscription.sid} 16 16\r\nNATS/1.0 503\r\n\r\n\r\n`)
  }

  /** New permissions hold for the next operation; subscriptions that they do not allow end now. */
  setPermissions(permissions: CompiledPermissions): void {
    const { maxRememberedReplies, replyExpiryMs } = this.#hub.limits
    this.#permissions = permissions
    if (!permissions.respond) this.#replies = undefined
    else this.#replies ??= new ReplyLedger(maxRememberedReplies, replyExpiryMs)
    for (const subscription of this.#subscriptions.values()) {
      const { subject, sid } = subscription
      if (permissions.maySubscribe(subject)) continue
      this.#drop(subscription)
      this.#violation('subscribe', subject, `Permissions Violation for Subscription to "${subject}" (sid "${sid}")`)
    }
  }

  userRemoved(): void {
    this.#refuse('Authorization Violation', 'user removed')
  }

  /** One more than there may be. */
  turnAway(): void {
    this.#refuse('maximum connections exceeded', 'too many connections')
  }

  brokerStopped(): void {
    this.#connection.destroy('broker stopped')
  }

  #read(chunk: Buffer): number {
    this.#messages = 0
    this.#parser.push(chunk)
    return this.#messages
  }

  #authenticate({ nkey, signature }: ConnectOptions): boolean {
    const permissions = this.#hub.authenticate(nkey, this.#greeting.nonce, signature)
    if (!permissions) {
      this.#authFailure(nkey === '' ? 'no user key given' : 'unknown user key or wrong signature')
      return false
    }
    this.#user = nkey
    this.#parser.connectFirst = false
    this.setPermissions(permissions)
    if (this.#hub.isMetered(nkey)) this.#connection.limitIntake()
    this.#connection.keepPinging()
    return true
  }

  #authFailure(detail: string): void {
    this.#hub.report({ kind: 'auth failure', peer: this.#peer(), detail })
    this.#refuse('Authorization Violation', 'authentication failed')
  }

  #mayAnswer(subject: string): boolean {
    return this.#replies?.spend(subject, this.#hub.clock.nowMs()) ?? false
  }

  #drop(subscription: Subscription): void {
    subscription.closed = true
    this.#subscriptions.delete(subscription.sid)
    this.#hub.subscriptions.remove(subscription)
  }

  #violation(action: 'publish' | 'subscribe', subject: string, text: string): void {
    this.#say(text)
    const nowMs = this.#hub.clock.nowMs()
    if (nowMs - this.#violationReportedMs < VIOLATION_REPORT_MS) {
      this.#violationsUnreported += 1
      return
    }
    const unreported = this.#violationsUnreported
    this.#violationReportedMs = nowMs
    this.#violationsUnreported = 0
    this.#hub.report({ kind: 'permission violation', peer: this.#peer(), action, subject, unreported })
  }

  #ok(): void {
    if (this.#options.verbose) this.#connection.send('+OK\r\n')
  }

  /** An error that the connection survives. */
  #say(text: string): void {
    this.#connection.send(`-ERR '${text}'\r\n`)
  }

  /** An error that it does not. */
  #refuse(text: string, reason: DisconnectReason = 'protocol error'): void {
    this.#say(text)
    this.#connection.end(reason, text)
  }

  #leave(): void {
    this.#parser.stop()
    for (const subscription of this.#subscriptions.values()) this.#drop(subscription)
    this.#hub.left(this)
  }

  #closed(reason: DisconnectReason, detail: string | undefined): void {
    this.#hub.closed(this)
    this.#hub.report({ kind: 'disconnected', peer: this.#peer(), reason, ...(detail !== undefined && { detail }) })
  }

  #peer(): Peer {
    return {
      clientId: this.#greeting.id,
      address: this.#greeting.address,
      ...(this.#user !== undefined && { user: this.#user }),
      ...(this.#options.name !== '' && { name: this.#options.name }),
    }
  }
}

function headOf(subject: string, sid: string): string {
  return `MSG ${subject} ${sid} `
}
