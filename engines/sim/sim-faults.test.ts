import { expect, test } from 'vitest'
import { eventually, get, post, readEvents, stateOf, streamOf } from './testing/sim-client.ts'
import { endlessly, instantly, spawnSim, startSim } from './testing/start-sim.ts'

const ask = { messages: [{ role: 'user', content: 'Is anybody there?' }], max_tokens: 20 }

test('a crash at the start is an exit code with a reason in the log', async () => {
  await using sim = spawnSim(['--port', '0', '--fault', '{"kind":"crash","exit_code":9}'])
  expect(await sim.exited).toMatchObject({ code: 9 })
  expect(sim.output()).toContain('fault set: {"kind":"crash"')
})

test('an engine that declares more than there is fails to start like one whose GPU is full', async () => {
  await using sim = spawnSim(['--port', '0', '--memory-bytes', '2097153', '--out-of-memory-above', '2097152'])
  expect(await sim.exited).toMatchObject({ code: 1 })
  expect(sim.output()).toContain('allocating 2.00 MiB on device 0: cudaMalloc failed: out of memory')
  await using fitting = await startSim(['--memory-bytes', '5', '--out-of-memory-above', '5'])
  expect((await get(`${fitting.url}/health`)).status).toBe(200)
})

test('a crash on demand answers first', async () => {
  await using sim = await startSim(instantly)
  const reply = await post(`${sim.url}/sim/fault`, { kind: 'crash', exit_code: 3 })
  expect(reply).toMatchObject({ status: 200, body: { active: 'crash' } })
  expect(await sim.exited).toMatchObject({ code: 3 })
})

test('a crash after requests lets those through', async () => {
  await using sim = await startSim([...instantly, '--fault', '{"kind":"crash","after_requests":1}'])
  const url = `${sim.url}/v1/chat/completions`
  expect((await post(url, ask)).status).toBe(200)
  await expect(post(url, ask)).rejects.toThrow('fetch failed')
  expect(await sim.exited).toMatchObject({ code: 1 })
})

test('a crash after tokens cuts the stream after exactly that many', async () => {
  await using sim = await startSim(instantly)
  await post(`${sim.url}/sim/fault`, { kind: 'crash', after_tokens: 5, exit_code: 42 })
  const stream = await streamOf(`${sim.url}/v1/completions`, { prompt: 'Hello' })
  const texts: string[] = []
  const reading = (async () => {
    for (let data = await stream.next(); data !== undefined; data = await stream.next()) {
      texts.push(JSON.parse(data).choices[0].text)
    }
  })()
  await expect(reading).rejects.toThrow('aborted')
  expect(texts).toEqual(['Flotilla', ' works', ' end', ' to', ' end'])
  expect(await sim.exited).toMatchObject({ code: 42 })
})

test('what hangs answers nobody, health neither, until the fault is lifted', async () => {
  await using sim = await startSim(instantly)
  await post(`${sim.url}/sim/fault`, { kind: 'hang' })
  let answers = 0
  const held = [get(`${sim.url}/health`), post(`${sim.url}/v1/chat/completions`, ask)].map(async (reply) => {
    const { status } = await reply
    answers += 1
    return status
  })
  await eventually(async () => expect(await stateOf(sim)).toMatchObject({ requests: 1, fault: { active: 'hang' } }))
  expect(answers).toBe(0)
  await post(`${sim.url}/sim/fault`, { kind: 'none' })
  expect(await Promise.all(held)).toEqual([200, 200])
})

test('a client that leaves a hanging engine is noticed', async () => {
  await using sim = await startSim([...instantly, '--fault', '{"kind":"hang"}'])
  const gone = new AbortController()
  const held = post(`${sim.url}/v1/chat/completions`, ask, gone.signal)
  await eventually(async () => expect(await stateOf(sim)).toMatchObject({ requests: 1 }))
  gone.abort()
  await expect(held).rejects.toThrow('abort')
  await eventually(async () => expect(await stateOf(sim)).toMatchObject({ aborted: 1, in_flight: 0 }))
})

test('a stream that hangs in the middle goes on when the fault is lifted', async () => {
  await using sim = await startSim(instantly)
  await post(`${sim.url}/sim/fault`, { kind: 'hang', after_tokens: 2 })
  const stream = await streamOf(`${sim.url}/v1/completions`, { prompt: 'Hello', max_tokens: 4 })
  expect([await stream.next(), await stream.next()]).toHaveLength(2)
  expect(await stateOf(sim)).toMatchObject({ in_flight: 1, completion_tokens: 2, fault: { active: 'hang' } })
  await post(`${sim.url}/sim/fault`, { kind: 'none' })
  expect(await readEvents(stream)).toHaveLength(4)
})

test('refuse answers the status that was asked for, in the shape of OpenAI', async () => {
  await using sim = await startSim(instantly)
  const url = `${sim.url}/v1/chat/completions`
  await post(`${sim.url}/sim/fault`, { kind: 'refuse', status: 500, after_requests: 1 })
  expect((await post(url, ask)).status).toBe(200)
  expect(await post(url, ask)).toMatchObject({
    status: 500,
    body: { error: { type: 'server_error', code: 'simulated_refusal', message: expect.any(String), param: null } },
  })
  expect((await get(`${sim.url}/health`)).status).toBe(200)
  await post(`${sim.url}/sim/fault`, { kind: 'none' })
  expect((await post(url, ask)).status).toBe(200)
  expect(await stateOf(sim)).toMatchObject({ refused: 1, finished: 2 })
})

test('a fault that makes no sense is refused and changes nothing', async () => {
  await using sim = await startSim(endlessly)
  expect(await post(`${sim.url}/sim/fault`, { kind: 'melt' })).toMatchObject({
    status: 400,
    body: { error: { type: 'invalid_request_error', message: expect.stringContaining('one of none, crash') } },
  })
  expect(await stateOf(sim)).toMatchObject({ fault: { planned: 'none', active: 'none' } })
})
