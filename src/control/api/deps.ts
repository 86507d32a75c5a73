import type { IncomingMessage } from 'node:http'
import type { Bus } from '../../bus/bus.ts'
import type { PlacePolicy } from '../../core/placement/types.ts'
import type { Hub } from '../../model-files/source/hub.ts'
import type { BodyBudget } from '../../http/server/body-budget.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { Database } from '../../store/sql.ts'
import type { Conditions } from '../watch/conditions.ts'
import type { SeenNode } from '../watch/reach-watch.ts'
import type { EventFeed } from '../changes/event-feed.ts'
import type { LiveFeed } from '../views/live/live-feed.ts'

/** What an approved node reaches the bus with. */
export interface BusCredentials {
  bus_url: string
  /** For a NATS server with accounts; null for the embedded bus, where the node's key is its user. */
  bus_jwt: string | null
  /** For `tls://`: the CA that signed its certificate, and the name in that where it is not its host. */
  bus_ca?: string
  bus_name?: string
}

/** What the admin API needs of the program around it. */
export interface AdminDeps {
  db: Database
  /** To ask workers and gateways, and to tell a node that it was removed. */
  bus: Pick<Bus, 'request' | 'isConnected'>
  events: EventFeed
  live: LiveFeed
  log: Logger
  clock: Clock
  /** The memory that bodies of requests share in this process. */
  bodies?: BodyBudget
  /** What is wrong now and stands in no row. */
  conditions: Conditions
  /** Aborted when Flotilla stops: streams end, or the HTTP server would wait for them. */
  ending: AbortSignal
  adminKey: () => string
  /** Keeps another one, in its file as well; from then on it is the one that opens. */
  replaceAdminKey: (key: string) => void | Promise<void>
  clusterSecret: string
  /** The id by which nodes and gateways tell this cluster from another. */
  clusterId: string
  /** Why the store is not that of this cluster, if it is not: then no call may read it or write to it. */
  foreignStore?: () => string | undefined
  heartbeatPeriodMs: number
  /** Whether programs on this machine need no key for inference here. */
  localInference?: boolean
  /** Approves every new node at once: for networks where a join token is proof enough. */
  autoApprove: boolean
  /** Nodes that are known to be ours: the worker inside this very program. */
  approves: (publicKey: string) => boolean
  /**
   * Asked whenever an approved node registers or asks for its credentials, never for a pending one. The request says how
   * the node reaches this frontend, and so perhaps the bus.
   */
  credentialsFor: (
    nodeId: string,
    publicKey: string,
    request: IncomingMessage,
  ) => BusCredentials | Promise<BusCredentials>
  /** Lets a node onto the bus: after its approval, and again (do nothing then) when an approved node registers. */
  onNodeApproved: (publicKey: string, nodeId: string) => void | Promise<void>
  /** Lets a gateway onto the bus. The request says how it reaches this frontend, and so perhaps the bus. */
  gatewayCredentialsFor: (
    gateway: { gatewayId: string; publicKey: string },
    request: IncomingMessage,
  ) => BusCredentials | Promise<BusCredentials>
  /** Told of each call that a node has signed: how its data port is reached, and how far its clock is off. */
  onNodeSeen?: (node: SeenNode, how: 'registered' | 'signed') => void
  /** Writes a backup of the open store. */
  backup?: (sink: (text: AsyncIterable<string>) => Promise<void>) => Promise<unknown>
  /** Takes a node off the bus. It has been told to stop, if it listened. */
  onNodeRemoved: (nodeId: string, publicKey: string) => void | Promise<void>
  /** The join token in this frontend's data folder, as it is now. */
  defaultToken: () => string
  /** The fingerprint of this frontend's self-signed certificate, which a joining worker needs; null when a CA signed it. */
  fingerprint?: () => string | null
  /** Writes another into the data folder. Called before the store knows it: at a crash in between, the start inserts it. */
  replaceDefaultToken: (token: string) => void | Promise<void>
  /** The folder of `frontend:` sources. It need not exist. */
  modelsFolder: string
  /** The Hugging Face hub for `hf:` sources. */
  hub: Hub
  /** How nodes are chosen, to tell where a model would go. */
  placement: PlacePolicy
  /** The store has changed: `control.wake()`. */
  onChange: () => void
}
