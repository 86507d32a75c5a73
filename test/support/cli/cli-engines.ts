import type { BackendView } from '../../../src/api/admin/schemas.ts'
import { aCluster, aNodeView, flotilla, type Answers, type FakeCluster, type Person } from './cli.ts'
import type { Said } from './cli-command.ts'
import { anEngineView } from './cli-views.ts'

/** Two nodes that can run llama-server and lack vllm, and `flotilla engines` talking to them. */

/** The ids of its nodes. */
export const [G1, G2] = ['0198c7a0-1111-7000-8000-000000000001', '0298c7a0-1111-7000-8000-000000000002']
export const nodes = [aNodeView({ id: G1, name: 'gpu-1' }), aNodeView({ id: G2, name: 'gpu-2' })]
export const SHA = '3fa9c1d2e4f5'.padEnd(64, '0')

/** The calls by which engines are listed and changed. */
export const list = (id: string): string => `GET /api/nodes/${id}/backends`
export const post = (id: string, what: string): string => `POST /api/nodes/${id}/backends/${what}`

type Operation = NonNullable<BackendView['operation']>
export const operation = (fields: Partial<Operation> = {}): Operation => ({
  id: 'op1',
  kind: 'install',
  state: 'running',
  error: null,
  stopped: [],
  progress: null,
  ...fields,
})
export const progress = (done: number): NonNullable<Operation['progress']> => ({
  file: null,
  done_bytes: done * 2 ** 20,
  total_bytes: 1000 * 2 ** 20,
  bytes_per_s: 52_400_000,
})

export const vllm = anEngineView({ name: 'vllm', state: 'missing', reason: 'there is no program vllm in PATH' })
export const known = { 'GET /api/nodes': nodes, [list(G1)]: [anEngineView(), vllm], [list(G2)]: [anEngineView(), vllm] }

/** What was said, what was asked of the cluster, and which of that had a body. */
interface Ran extends Said, Pick<FakeCluster, 'calls' | 'data'> {
  changes: FakeCluster['calls']
}

export async function run(args: readonly string[], answers: Answers = {}, person: Person = {}): Promise<Ran> {
  const cluster = await aCluster({ ...known, ...answers })
  const said = await flotilla(['engines', '--data', cluster.data, ...args], person)
  const changes = cluster.calls.filter((call) => typeof call !== 'string')
  return { ...said, calls: cluster.calls, changes, data: cluster.data }
}
