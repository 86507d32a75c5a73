import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { NodeRegistration } from '../../api/admin/schemas.ts'
import { signedText } from '../../api/node-signature.ts'
import { newSeed, publicKeyOf, verify } from '../../bus/nkey.ts'
import { canonicalJson } from '../../core/lib/canonical-json.ts'
import { AppError } from '../../platform/errors.ts'
import type { JsonAnswer, JsonRequest } from '../../http/client.ts'
import { AnyFrontend } from '../../http/client/any-frontend.ts'
import { KeptCluster } from '../../platform/kept-cluster.ts'
import { askInCommon, refuseProtocol, SPOKEN } from '../../platform/peer-versions.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { Frontends, type Facts } from './frontends.ts'

const seed = newSeed()
const ok = { node_id: 'n1', name: 'gpu1', approved: false, credentials: null }
const says = (status: number, body: unknown): JsonAnswer => ({ status, body, dateMs: undefined })
const fails = (code: ConstructorParameters<typeof AppError>[0], text: string): JsonAnswer => {
  const error = new AppError(code, text)
  return says(error.status, error.toBody())
}

/** Frontends at a, b and c, each of which answers as told; and what they were asked. */
function frontends(answers: Record<string, JsonAnswer | Error>, cluster?: KeptCluster) {
  const asked: { url: URL; request: JsonRequest }[] = []
  const all = new Frontends({
    urls: Object.keys(answers).map((name) => `http://${name}`),
    joinToken: 'flj_1',
    seed,
    runId: 'run1',
    cluster,
    nowMs: () => 1_700_000_000_000,
    async send(url, request) {
      asked.push({ url, request })
      const answer = Object.entries(answers).find(([name]) => name.endsWith(url.hostname))![1]
      if (answer instanceof Error) throw answer
      return answer
    },
  })
  return { all, asked, hosts: () => asked.map(({ url }) => url.hostname) }
}

test('a registration shows the join token and proves that we hold the key we name', async () => {
  const { all, asked } = frontends({ a: says(200, ok) })
  const facts = { name: 'gpu1', public_key: publicKeyOf(seed) } as Facts
  expect(await all.register(facts)).toEqual(ok)
  const { registration, signature } = asked[0]!.request.body as { registration: NodeRegistration; signature: string }
  expect(asked[0]!.request.token).toBe('flj_1')
  expect(registration).toEqual({ ...facts, protocol: SPOKEN.newest, signed_at: 1_700_000_000_000 })
  expect(verify(publicKeyOf(seed), canonicalJson(registration), signature)).toBe(true)
})

test('a frontend of the release before is asked again, in the protocol it speaks', async () => {
  const speaks = { oldest: SPOKEN.oldest - 1, newest: SPOKEN.oldest }
  const refusal = refuseProtocol('worker', SPOKEN.newest + 1, speaks)
  const answers = [says(refusal.status, refusal.toBody()), says(200, ok)]
  const asked: NodeRegistration[] = []
  const any = new AnyFrontend(['http://a'], {}, async (_url, { body }) => {
    asked.push((body as { registration: NodeRegistration }).registration)
    return answers.shift()!
  })
  const ask = (protocol: number) => any.post('/', { body: { registration: { protocol } } })
  expect(await askInCommon(ask, { oldest: SPOKEN.oldest, newest: SPOKEN.newest + 1 })).toEqual(ok)
  expect(asked.map(({ protocol }) => protocol)).toEqual([SPOKEN.newest + 1, SPOKEN.oldest])
})

test('a call of the node is signed for exactly that call, and shows no token', async () => {
  const { all, asked } = frontends({ a: says(200, ok) })
  await all.credentials('n1')
  const { url, request } = asked[0]!
  expect(url.pathname).toBe('/api/node/n1/credentials')
  expect(request.token).toBeUndefined()
  const [, signedAt, signature] = /^Node (\d+)\.(\S+)$/.exec(request.headers!['authorization']!)!
  const signed = (path: string) => verify(publicKeyOf(seed), signedText('POST', path, Number(signedAt)), signature!)
  expect(signed('/api/node/n1/credentials')).toBe(true)
  expect(signed('/api/node/n2/credentials')).toBe(false)
})

test('frontends are tried in turn, beginning with the one that answered last', async () => {
  const answers = { a: new Error('refused'), b: fails('unavailable', 'starting'), c: says(200, ok) }
  const { all, hosts } = frontends(answers)
  await all.credentials('n1')
  await all.credentials('n1')
  expect(hosts()).toEqual(['a', 'b', 'c', 'c'])
})

test('a refusal is the word of all of them', async () => {
  const { all, hosts } = frontends({ a: fails('unauthorized', 'The join token is wrong.'), b: says(200, ok) })
  await expect(all.credentials('n1')).rejects.toMatchObject({ code: 'unauthorized', message: /wrong/ })
  expect(hosts()).toEqual(['a'])
})

test('when none answers, each one and its reason is told, without what else is in its URL', async () => {
  const { all } = frontends({ 'me:secret@a': new Error('connect ECONNREFUSED'), b: says(404, { page: 'not found' }) })
  const error = await all.credentials('n1').catch((thrown: unknown) => thrown as AppError)
  expect(error).toMatchObject({ code: 'unavailable' })
  expect((error as AppError).message).toBe(
    'No frontend answers (http://a: connect ECONNREFUSED; http://b: answered 404, but not as a Flotilla frontend does).',
  )
})

describe('another cluster', () => {
  const tooOld = { cluster_id: 'theirs' }
  const stranger = says(409, new AppError('other_cluster', 'Not yours.', { details: tooOld }).toBody())
  const member = () => {
    const cluster = new KeptCluster()
    cluster.learn('ours')
    return cluster
  }

  test('the first answer says which cluster is ours, and every later call names it', async () => {
    const cluster = new KeptCluster()
    const { all, asked } = frontends({ a: says(200, { ...ok, cluster_id: 'ours' }) }, cluster)
    await all.register({} as Facts)
    await all.credentials('n1')
    expect(asked.map(({ request }) => request.headers?.['x-flotilla-cluster'])).toEqual([undefined, 'ours'])
    expect(cluster.id).toBe('ours')
  })

  test.each([
    ['takes us', says(200, { ...ok, cluster_id: 'theirs' })],
    ['refuses us', stranger],
    ['says that we were removed', says(403, { error: { code: 'forbidden', node: 'removed', cluster_id: 'theirs' } })],
  ])(
    'a frontend of another that %s is not listened to; one of ours is, wherever it is in the list',
    async (_, answer) => {
      const { all, hosts } = frontends({ a: answer, b: says(200, { ...ok, cluster_id: 'ours' }) }, member())
      expect(await all.credentials('n1')).toMatchObject({ node_id: 'n1' })
      expect(hosts()).toEqual(['a', 'b'])
      const alone = frontends({ a: answer }, member())
      const advice: unknown = expect.stringContaining('--new-cluster')
      const refusal = { code: 'other_cluster', message: advice }
      await expect(alone.all.credentials('n1')).rejects.toMatchObject(refusal)
    },
  )

  test('a frontend of the release before, which does not say, is taken for one of ours', async () => {
    const { all } = frontends({ a: says(200, ok) }, member())
    expect(await all.credentials('n1')).toEqual(ok)
  })
})

test('the cluster is kept over restarts, until it is forgotten', () => {
  const file = join(tempFolder(), 'cluster.id')
  new KeptCluster(file).learn('ours')
  const again = new KeptCluster(file)
  again.learn('theirs')
  expect([again.id, again.isOther('theirs'), again.isOther('ours'), again.isOther(undefined)]).toEqual([
    'ours',
    true,
    false,
    false,
  ])
  again.forget()
  expect(new KeptCluster(file).id).toBeUndefined()
})
