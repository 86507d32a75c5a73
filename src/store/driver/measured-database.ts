import type { Metrics } from '../../platform/metrics/metrics.ts'
import { SHORT_BOUNDS, timed } from '../../platform/metrics/call-times.ts'
import type { Database } from '../sql.ts'

/** The same store, with the time that it takes counted. A transaction counts as a whole, with the work in it. */
export function measuredDatabase(db: Database, metrics: Metrics): Database {
  const duration = metrics.histogram(
    'flotilla_store_duration_seconds',
    'Duration of store calls, by kind and outcome.',
    ['operation', 'outcome'],
    SHORT_BOUNDS,
  )
  const ended = (operation: string) => (isOk: boolean) => duration.cell(operation, isOk ? 'ok' : 'failed')
  const queried = ended('query')
  const committed = ended('transaction')
  return {
    kind: db.kind,
    query: (text, params) => timed(queried, () => db.query(text, params)),
    transaction: (work) => timed(committed, () => db.transaction(work)),
    close: () => db.close(),
  }
}
