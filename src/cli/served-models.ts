import { z } from 'zod'
import { requestJson } from '../http/client.ts'
import { reach, refusal } from './admin-client.ts'
import type { Cluster } from './cluster.ts'

const WITHIN_MS = 30_000

const listed = z.object({ data: z.array(z.object({ id: z.string() })) })

/** The models that can be used. From the gateway, because an API key has no access to the admin API. */
export async function servedModels(cluster: Cluster): Promise<{ name: string }[]> {
  const request = { method: 'GET', token: cluster.key, timeoutMs: WITHIN_MS } as const
  const answer = await reach(cluster, () => requestJson(new URL('/v1/models', cluster.url), request))
  if (answer.status !== 200) throw refusal(cluster, answer)
  const models = listed.safeParse(answer.body).data?.data ?? []
  return models.map(({ id }) => ({ name: id }))
}
