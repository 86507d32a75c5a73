import type { HeartbeatMessage } from '../src/api/bus/messages.ts'
import type { BusRole } from '../src/api/bus/subjects.ts'
import type { Bus } from '../src/bus/bus.ts'
import type { Decide } from '../src/control/turn/turn.ts'
import type { Forward } from '../src/http/proxy.ts'
import type { Value } from '../src/store/sql.ts'
import type { StoredWorld } from '../src/store/world/world.ts'
import type { LiveTable } from '../src/gateway/table/routing-table.ts'
import type { ReplicaLimits } from '../src/worker/replicas/launch.ts'
import type { FrontendCalls } from './roles/worker-process.ts'
import type { Supervisor } from '../src/worker/replicas/supervisor.ts'

/** Who does it: f1, f2, g1, g2 or a machine (n1 …). */
export interface Who {
  name: string
  role: BusRole
}

export interface Statement {
  text: string
  params: readonly Value[]
}

export type Run = (text: string, params?: readonly Value[]) => Record<string, Value>[]

/**
 * Where a planted bug gets in: each is given the real thing and returns what is used in its stead. Without any, the
 * simulator runs the program as it is.
 */
export interface Hooks {
  /** Each statement of a frontend, before it runs. Undefined: it is not run, and answers with no rows. */
  statement?(statement: Statement, who: Who): Statement | undefined
  /** Before the commit of a frontend's transaction, with all that ran in it; `run` runs more in the same transaction. */
  beforeCommit?(run: Run, statements: readonly Statement[], who: Who): void
  bus?(bus: Bus, who: Who): Bus
  /** The planner, and what checks its plans. */
  decide?(real: Decide): Decide
  /** What the routing table is made of. */
  routedWorld?: (world: StoredWorld) => StoredWorld
  heartbeat?(heartbeat: HeartbeatMessage, who: Who): HeartbeatMessage
  /** What the worker's commands and heartbeats use. It may be changed in place: `stop`, `start`, `report`, `find`. */
  supervisor?(real: Supervisor, who: Who): Supervisor
  /** How a worker asks frontends. */
  calls?(real: FrontendCalls, who: Who): FrontendCalls
  workerLimits?(real: ReplicaLimits): ReplicaLimits
  /** What carries a request from a gateway to a worker. */
  forward?(real: Forward, who: Who): Forward
  /** The routing table of a gateway, to be changed in place: `pick`, `begin`. */
  table?(table: LiveTable, who: Who): void
}
