import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { get, readEvents, streamOf } from './testing/sim-client.ts'
import { endlessly, instantly, spawnSim, startSim } from './testing/start-sim.ts'

test('SIGTERM lets a running stream finish, takes nothing new, and ends with 0', async () => {
  await using sim = await startSim(['--ttft-ms', '0', '--tokens-per-s', '20'])
  const stream = await streamOf(`${sim.url}/v1/completions`, { prompt: 'Hello', max_tokens: 20 })
  sim.child.kill('SIGTERM')
  await sim.said('stopping')
  await expect(get(`${sim.url}/health`)).rejects.toThrow('fetch failed')
  expect(await readEvents(stream)).toHaveLength(22)
  expect(await sim.exited).toEqual({ code: 0, signal: null })
})

test('SIGTERM ends an idle engine at once, even one still loading or with an open connection', async () => {
  await using sim = await startSim([...instantly, '--load-ms', '3600000'])
  await get(`${sim.url}/health`)
  sim.child.kill('SIGTERM')
  expect(await sim.exited).toEqual({ code: 0, signal: null })
})

test('a second signal does not wait for anybody', async () => {
  await using sim = await startSim(endlessly)
  const stream = await streamOf(`${sim.url}/v1/completions`, { prompt: 'Hello' })
  sim.child.kill('SIGTERM')
  await sim.said('stopping')
  sim.child.kill('SIGINT')
  expect(await sim.exited).toEqual({ code: 1, signal: null })
  await expect(readEvents(stream)).rejects.toThrow('aborted')
})

test('the end of a piped stdin is the end of the parent: exit at once, whatever runs', async () => {
  await using sim = await startSim(endlessly)
  const stream = await streamOf(`${sim.url}/v1/completions`, { prompt: 'Hello' })
  sim.child.stdin?.end()
  expect(await sim.exited).toEqual({ code: 0, signal: null })
  await expect(readEvents(stream)).rejects.toThrow('aborted')
})

test('an empty stdin that is no pipe means nothing', async () => {
  await using sim = await startSim(instantly, 'ignore')
  await sim.said('ready')
  expect((await get(`${sim.url}/health`)).status).toBe(200)
})

test('a bad flag is one line and exit code 2', async () => {
  await using sim = spawnSim(['--port', '0', '--parallel', 'many'])
  expect(await sim.exited).toMatchObject({ code: 2 })
  expect(sim.output()).toMatch(/^sim: --parallel takes a whole number from 1 to 4096, not "many" .*\n$/)
})

test('help lists the flags and ends with 0', async () => {
  await using sim = spawnSim(['--help'])
  expect(await sim.exited).toMatchObject({ code: 0 })
  expect(sim.output()).toContain('--tokens-per-s')
})

test('a port that is taken is one line and exit code 1', async () => {
  const other = createServer()
  const port = await new Promise<number>((resolve) => {
    other.listen(0, '127.0.0.1', () => {
      const address = other.address()
      resolve(typeof address === 'object' && address ? address.port : 0)
    })
  })
  await using sim = spawnSim(['--port', String(port)])
  expect(await sim.exited).toMatchObject({ code: 1 })
  expect(sim.output()).toMatch(/^sim: cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.*\n$/)
  other.close()
})
