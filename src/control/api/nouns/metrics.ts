import { pipeline } from 'node:stream/promises'
import { AppError } from '../../../platform/errors.ts'
import { listNodes } from '../../../store/nouns/nodes.ts'
import { askDataPort } from '../../workers/data-port.ts'
import type { Answers, Streams } from '../answers.ts'
import type { AdminDeps } from '../deps.ts'
import { neededNode } from '../../views/node-view.ts'

/** Longer than Prometheus waits for a target. */
const WITHIN_MS = 15_000

/** The metrics of workers, through a frontend: the collector needs no access to their ports, and one key is enough. */
export function metricStreams(deps: AdminDeps): Streams<'nodeMetrics'> {
  return {
    async nodeMetrics(_request, response, { id }) {
      const node = await neededNode(deps.db, id)
      const answer = await askDataPort(deps, node, '/metrics', AbortSignal.timeout(WITHIN_MS))
      if (answer.statusCode !== 200) {
        answer.destroy()
        const text = `${node.name} runs a worker without metrics (${node.version}): update it.`
        throw new AppError('bad_gateway', text)
      }
      response.writeHead(200, { 'content-type': answer.headers['content-type'] ?? 'text/plain; version=0.0.4' })
      // The collector or the worker has gone: there is no answer to send.
      await pipeline(answer, response).catch(() => {})
    },
  }
}

export function metricAnswers(deps: AdminDeps): Answers<'metricTargets'> {
  return {
    async metricTargets(_body, _params, { request }) {
      const nodes = (await listNodes(deps.db)).filter((node) => {
        // The metrics of a worker in this process are part of our own.
        const isElsewhere = !deps.approves(node.public_key)
        return node.approved_at !== null && node.node_type === 'backend' && isElsewhere
      })
      const target = request.headers.host ?? ''
      return nodes.map(({ id, name }) => ({
        targets: [target],
        labels: { __metrics_path__: `/api/nodes/${id}/metrics`, node: name },
      }))
    },
  }
}
