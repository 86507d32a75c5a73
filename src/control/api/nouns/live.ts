import type { Streams } from '../answers.ts'
import type { AdminDeps } from '../deps.ts'

export function liveStreams({ live }: AdminDeps): Streams<'watchCluster'> {
  return { watchCluster: (_request, response) => live.stream(response) }
}
