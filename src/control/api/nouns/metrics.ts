import { pipeline } from 'node:stream/promises'
import { AppError } from '../../../platform/errors.ts'
import { listNodes } from '../../../store/nouns/nodes.ts'
import { askDataPort } from '../../workers/data-port.ts'
import type { Answers, Streams } from '../answers.ts'
import type { AdminDeps } from '../deps.ts'
import { neededNode } from '../../views/node-view.ts'

/** Longer than Prometheus waits for anybody. */
const WITHIN_MS = 15_000

/** Figures of workers, through a frontend: no port of theirs need be open to who collects them, and one key is enough. */
export function metricStreams(deps: AdminDeps): Streams<'nodeMetrics'> {
  return {
    async nodeMetrics(_request, response, { id }) {
      const node = await neededNode(deps.db, id)
      const answer = await askDataPort(deps, node, '/metrics', AbortSignal.timeout(WITHIN_MS))
      if (answer.statusCode !== 200) {
        answer.destroy()
        const text = `${node.name} runs a worker that counts nothing (${node.version}): update it.`
        throw new AppError('bad_gateway', text)
      }
      response.writeHead(200, { 'content-type': answer.headers['content-type'] ?? 'text/plain; version=0.0.4' })
      // One of the two has gone: nobody is left to tell.
      await pipeline(answer, response).catch(() => {})
    },
  }
}

export function metricAnswers(deps: AdminDeps): Answers<'metricTargets'> {
  return {
    async metricTargets(_body, _params, { request }) {
      const nodes = (await listNodes(deps.db)).filter((node) => {
        // What the worker in this very program counts is in our own figures.
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
