import type { Problem } from '../../api/admin/cluster-schemas.ts'

/** The first problem in the list when the store cannot be read. */
export function unreadableStore(why: string, asOfMs: number | undefined): Problem {
  const rest =
    asOfMs === undefined
      ? 'Nodes and models are not known.'
      : `Nodes and models are shown as of ${new Date(asOfMs).toISOString()}.`
  return {
    kind: 'store',
    severity: 'error',
    text: `The store cannot be read: ${why} ${rest}`,
    advice: 'Requests to loaded models are served. Look at the store, and at the log of the frontend.',
    node_id: null,
    node_name: null,
    key: null,
    model_name: null,
  }
}
