import type { RoutingSnapshotMessage } from '../../src/api/bus/messages.ts'
import { CountedTable, startGateway, type Gateway } from '../../src/gateway/start-gateway.ts'
import type { SavedTable } from '../../src/gateway/table/saved-table.ts'
import { ClientSocket } from '../clients/exchange.ts'
import type { Cluster } from '../cluster.ts'
import { SimProcess } from '../ground/sim-process.ts'
import { simLog } from '../ground/sim-log.ts'

const LOAD_WAIT_MS = 60_000

/** One run of a gateway. */
export class GatewayProcess {
  readonly process: SimProcess
  readonly table = new CountedTable()
  readonly gateway: Gateway
  /** The connection of clients that stay. */
  readonly socket = new ClientSocket()

  constructor(cluster: Cluster, name: string, disk: GatewayDisk) {
    const { queue, exchange, hooks, trace, dataPath, settings } = cluster
    this.process = new SimProcess(name, 'gateway', queue)
    const { process } = this
    const bus = exchange.connect(process, name)
    hooks.table?.(this.table, process)
    const forward = dataPath.forwardOf(process)
    this.gateway = startGateway({
      bus: hooks.bus?.(bus, process) ?? bus,
      clock: process.clock,
      log: simLog(trace, name),
      gatewayId: name,
      exposeNode: false,
      savedTable: disk.savedTable(() => process.clock.nowMs()),
      table: this.table,
      network: {
        forward: hooks.forward?.(forward, process) ?? forward,
        probe: dataPath.probeOf(process),
        askNode: dataPath.askNodeOf(process),
      },
      limits: { modelLoadWaitMs: LOAD_WAIT_MS, ...settings.gateway },
    })
    process.onDeath(() => this.socket.destroy())
  }
}

/** Where a gateway keeps its last table, over its restarts. */
export class GatewayDisk {
  #saved: { savedAtMs: number; table: RoutingSnapshotMessage } | undefined

  savedTable(nowMs: () => number): SavedTable {
    return {
      load: () => this.#saved,
      changed: (current) => {
        const table = current()
        if (table) this.#saved = { savedAtMs: nowMs(), table }
      },
      dispose: async () => {},
    }
  }
}
