import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Cluster } from './support/cluster.ts'
import { enginesOf, startFrontend, type Flotilla } from './support/flotilla.ts'
import { freePort } from './support/http/free-port.ts'
import { onServers } from './support/grounds.ts'
import { nextRelease } from './support/store/next-release.ts'
import { until } from './support/until.ts'

const KEEP = ['--keep-engines']

/** As a balancer does it: whoever does not take the connection is passed over; what was taken must be answered. */
function startLoad(urls: () => readonly string[]) {
  const over = new AbortController()
  const failures: string[] = []
  let served = 0
  const lane = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const answer = await askAny(urls())
      if (answer.includes('[DONE]') && !answer.includes('"error"')) served += 1
      else failures.push(answer.slice(-300))
    }
  }
  const lanes = Array.from({ length: 4 }, lane)
  return {
    failures,
    served: () => served,
    async more() {
      const before = served
      await until(() => served >= before + 20)
    },
    async stop() {
      over.abort()
      await Promise.all(lanes)
    },
  }
}

async function askAny(urls: readonly string[]): Promise<string> {
  const body = JSON.stringify({ model: 'm', stream: true, max_tokens: 20, messages: [{ role: 'user', content: 'Hi' }] })
  let silence = 'nobody was asked'
  for (const url of urls) {
    try {
      const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body })
      return await response.text()
    } catch (error) {
      const cause = (error as Error).cause as NodeJS.ErrnoException | undefined
      if (cause?.code !== 'ECONNREFUSED') return `broken off: ${String(cause ?? error)}`
      silence = String(cause)
    }
  }
  return silence
}

/** What docs/guide/upgrade.md tells people to do, in an order that is as awkward as they may choose. */
test(
  'a cluster is updated process by process, in any order, under load: no request fails and no engine is started anew',
  { timeout: 300_000 },
  async () => {
    const program = nextRelease()
    const ground = await onServers()
    // A worker that is started again on a busy machine must not be taken for dead.
    const args = ['--heartbeat-ms', '300', '--offline-after-ms', '30000', ...ground.args, '--auto-approve']
    const hosts = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
    const frontends = [
      await startFrontend({ args, listen: hosts[0]! }),
      await startFrontend({ args, listen: hosts[1]! }),
    ]
    const join2 = frontends.map(({ url }) => url).join()
    const cluster = new Cluster(frontends[0]!, args)
    const [a, b] = ['a', 'b'].map((name) => cluster.worker(name, { join: join2, args: KEEP }))
    for (const name of ['a', 'b']) await cluster.isHealthy(name)
    await cluster.model('m', 2, { ttft_ms: 5, tokens_per_s: 400 })
    const engines = [...enginesOf(a!.data), ...enginesOf(b!.data)]
    const replicas = (await cluster.ready('m')).map(({ id }) => id)
    const load = startLoad(() => frontends.map(({ url }) => url))
    await load.more()

    const tokenFile = join(frontends[0]!.data, 'join.token')
    const updateFrontend = async (index: 0 | 1): Promise<Flotilla> => {
      const { data } = frontends[index]!
      await frontends[index]!.signal('SIGTERM')
      frontends[index] = await startFrontend({ args, data, listen: hosts[index]!, program })
      return frontends[index]
    }
    const isNew = (name: string) => until(async () => (await cluster.node(name))!.version.startsWith('99.'))

    // A worker before any frontend: it has to fall back to the protocol that they speak.
    await a!.signal('SIGTERM')
    cluster.worker('a', { join: join2, data: a!.data, tokenFile, program, args: KEEP })
    await isNew('a')
    await cluster.isHealthy('a')
    await load.more()
    // A frontend: it adds to the schema below the other one, which goes on, and is started again as it is.
    await updateFrontend(1)
    await load.more()
    const { data } = frontends[0]!
    await frontends[0]!.signal('SIGTERM')
    frontends[0] = cluster.frontend = await startFrontend({ args, data, listen: hosts[0]! })
    await cluster.isHealthy('b')
    await load.more()
    // The rest. The old worker has frontends of the next release only, for a while.
    cluster.frontend = await updateFrontend(0)
    await cluster.isHealthy('b')
    await load.more()
    await b!.signal('SIGTERM')
    cluster.worker('b', { join: join2, data: b!.data, tokenFile, program, args: KEEP })
    await isNew('b')
    await cluster.isHealthy('b')
    await load.more()
    await load.stop()

    expect(load.failures).toEqual([])
    expect((await cluster.ready('m')).map(({ id }) => id)).toEqual(replicas)
    expect([...enginesOf(a!.data), ...enginesOf(b!.data)]).toEqual(engines)
  },
)
