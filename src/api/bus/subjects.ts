import type { z } from 'zod'
import { pullReport } from '../reports.ts'
import * as messages from './messages.ts'
import type { Permissions } from './permissions.ts'

export type BusRole = 'control' | 'gateway' | 'node'

interface Event {
  kind: 'event'
  template: string
  from: readonly BusRole[]
  to: readonly BusRole[]
  message: z.ZodType
}
interface Request extends Omit<Event, 'kind'> {
  kind: 'request'
  reply: z.ZodType
}

/**
 * Every subject: its template, the roles that publish and that listen, and its message. `{node}` is a node's id.
 * Permissions are derived from this table and written nowhere else.
 */
export const subjects = {
  /** A worker's full list of replicas; sent every few seconds and at once after every change. */
  heartbeat: {
    kind: 'event',
    template: 'nodes.{node}.heartbeat',
    from: ['node'],
    to: ['control'],
    message: messages.heartbeat,
  },
  replicaStart: {
    kind: 'request',
    template: 'nodes.{node}.replica.start',
    from: ['control'],
    to: ['node'],
    message: messages.replicaStart,
    reply: messages.replicaStarted,
  },
  replicaStop: {
    kind: 'request',
    template: 'nodes.{node}.replica.stop',
    from: ['control'],
    to: ['node'],
    message: messages.replicaStop,
    reply: messages.replicaStopped,
  },
  engineInstall: {
    kind: 'request',
    template: 'nodes.{node}.engine.install',
    from: ['control'],
    to: ['node'],
    message: messages.engineInstall,
    reply: messages.engineAccepted,
  },
  engineUpgrade: {
    kind: 'request',
    template: 'nodes.{node}.engine.upgrade',
    from: ['control'],
    to: ['node'],
    message: messages.engineInstall,
    reply: messages.engineAccepted,
  },
  engineDelete: {
    kind: 'request',
    template: 'nodes.{node}.engine.delete',
    from: ['control'],
    to: ['node'],
    message: messages.engineDelete,
    reply: messages.engineAccepted,
  },
  engineList: {
    kind: 'request',
    template: 'nodes.{node}.engine.list',
    from: ['control'],
    to: ['node'],
    message: messages.nothing,
    reply: messages.engineList,
  },
  modelDelete: {
    kind: 'request',
    template: 'nodes.{node}.model.delete',
    from: ['control'],
    to: ['node'],
    message: messages.modelDelete,
    reply: messages.modelDeleted,
  },
  modelPull: {
    kind: 'request',
    template: 'nodes.{node}.model.pull',
    from: ['control'],
    to: ['node'],
    message: messages.modelPull,
    reply: pullReport,
  },
  modelInspect: {
    kind: 'request',
    template: 'nodes.{node}.model.inspect',
    from: ['control'],
    to: ['node'],
    message: messages.modelInspect,
    reply: messages.modelInspected,
  },
  nodeShutdown: {
    kind: 'request',
    template: 'nodes.{node}.shutdown',
    from: ['control'],
    to: ['node'],
    message: messages.nodeShutdown,
    reply: messages.nothing,
  },
  nodeUnknown: {
    kind: 'event',
    template: 'nodes.{node}.unknown',
    from: ['control'],
    to: ['node'],
    message: messages.nodeUnknown,
  },
  routingDelta: {
    kind: 'event',
    template: 'routing.delta',
    from: ['control'],
    to: ['gateway'],
    message: messages.routingDelta,
  },
  routingSnapshot: {
    kind: 'request',
    template: 'routing.snapshot',
    from: ['gateway'],
    to: ['control'],
    message: messages.routingPartRequest,
    reply: messages.routingPart,
  },
  /** Answered by the leader alone. */
  dataCertificate: {
    kind: 'request',
    template: 'gateways.certificate',
    from: ['gateway'],
    to: ['control'],
    message: messages.dataCertificate,
    reply: messages.dataCertified,
  },
  /** Answered by the leader alone. */
  modelWanted: {
    kind: 'request',
    template: 'routing.wanted',
    from: ['gateway'],
    to: ['control'],
    message: messages.modelWanted,
    reply: messages.modelWantedReply,
  },
  /** Each gateway's load, to all others and to control: at most every 200 ms while it changes, rarer where there are many. */
  gatewayLoad: {
    kind: 'event',
    template: 'gateways.load',
    from: ['gateway'],
    to: ['gateway', 'control'],
    message: messages.gatewayLoad,
  },
  /** What each gateway has served, for people to see: every second while requests end. */
  gatewayTraffic: {
    kind: 'event',
    template: 'gateways.traffic',
    from: ['gateway'],
    to: ['control'],
    message: messages.gatewayTraffic,
  },
  why: {
    kind: 'request',
    template: 'gateways.why',
    from: ['control'],
    to: ['gateway'],
    message: messages.whyRequest,
    reply: messages.whyReply,
  },
  /** Something changed in the store: wakes the leader. Any frontend may send it. */
  wake: { kind: 'event', template: 'control.wake', from: ['control'], to: ['control'], message: messages.nothing },
  /** The leader announces itself once a turn, so that a second leader, on another store, is detected. */
  leader: { kind: 'event', template: 'control.leader', from: ['control'], to: ['control'], message: messages.leader },
} as const satisfies Record<string, Event | Request>

export type Subjects = typeof subjects
export type SubjectName = keyof Subjects
export type EventName = { [N in SubjectName]: Subjects[N]['kind'] extends 'event' ? N : never }[SubjectName]
export type RequestName = Exclude<SubjectName, EventName>
export type MessageOf<N extends SubjectName> = z.infer<Subjects[N]['message']>
export type ReplyOf<N extends RequestName> = z.infer<Subjects[N]['reply']>

/** The subject itself. Without a node, the pattern that covers all nodes. */
export function subjectOf(name: SubjectName, nodeId = '*'): string {
  return subjects[name].template.replace('{node}', nodeId)
}

/** Each client reads answers under a prefix of its own, so that no client can read or forge another's. */
export function inboxPrefix(role: BusRole, clientId: string): string {
  return `_INBOX.${role}.${clientId}`
}

/** What a role may do. A node is confined to its own subjects by its id. */
export function permissionsFor(role: BusRole, clientId: string): Permissions {
  const nodeId = role === 'node' ? clientId : '*'
  const named = Object.keys(subjects) as SubjectName[]
  const hears = named.filter((name) => includes(subjects[name].to, role))
  return {
    publish: named.filter((name) => includes(subjects[name].from, role)).map((name) => subjectOf(name, nodeId)),
    subscribe: [...hears.map((name) => subjectOf(name, nodeId)), `${inboxPrefix(role, clientId)}.>`],
    respond: hears.some((name) => subjects[name].kind === 'request'),
    inbox: inboxPrefix(role, clientId),
  }
}

function includes(roles: readonly BusRole[], role: BusRole): boolean {
  return roles.includes(role)
}
