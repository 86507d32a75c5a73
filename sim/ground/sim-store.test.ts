import { describe } from 'vitest'
import { describeApiKeys } from '../../src/store/contract/api-keys.ts'
import { describeLeases } from '../../src/store/contract/leases.ts'
import { describeRules } from '../../src/store/contract/rules.ts'
import { describeSessions } from '../../src/store/contract/sessions.ts'
import { describeStatements } from '../../src/store/contract/statements.ts'
import { describeTransactions } from '../../src/store/contract/transactions.ts'
import type { ContractStore } from '../../src/store/contract/contract.ts'
import { loadMigrations } from '../../src/store/migrate/migration-files.ts'
import { EventQueue } from '../event-queue.ts'
import { Random } from '../random.ts'
import { Network } from './network.ts'
import { inRealTime } from './real-time.ts'
import { SimProcess } from './sim-process.ts'
import { SimStore } from './sim-store.ts'

/** Each handle is that of another process. The first that is opened brings what the test adds to the schema. */
async function simulated(): Promise<ContractStore> {
  const queue = new EventQueue()
  const stop = inRealTime(queue)
  const network = new Network(queue, new Random(1))
  let store: SimStore | undefined
  let processes = 0
  return {
    async open({ migrations } = {}) {
      const more = migrations === undefined ? [] : loadMigrations(migrations)
      store ??= new SimStore(queue, network, new Random(2), {}, more)
      return store.databaseOf(new SimProcess(`f${(processes += 1)}`, 'control', queue))
    },
    async drop() {
      await stop()
      store?.close()
    },
  }
}

describe('the simulated store', () => {
  describeStatements(simulated)
  describeTransactions(simulated)
  describeLeases(simulated)
  describeApiKeys(simulated)
  describeRules(simulated)
  describeSessions(simulated)
})
