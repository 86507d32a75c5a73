import { copyFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { llamaEngine, skipper } from '../../test/support/worker/llama-engine.ts'
import { tempFolder } from '../../test/support/temp-folder.ts'
import { until } from '../../test/support/until.ts'
import { spawnLlama, startLlama } from './testing/start-llama.ts'

beforeAll(() => llamaEngine(), 300_000)

/** A file that is not a model: what the engine says of it, and how it ends. */
async function refusal(make: (file: string) => void, args: string[] = []): Promise<string> {
  const file = join(tempFolder(), 'model.gguf')
  make(file)
  const engine = await spawnLlama(['--model', file, ...args])
  const { code } = await engine.exited
  expect(code).toBe(1)
  expect(engine.output()).not.toMatch(/^\s+at /m)
  const last = engine.output().trimEnd().split('\n').at(-1)!
  return last.replaceAll(file, 'FILE')
}

test('a missing, empty or wrong file is named in one line, and the process ends', async () => {
  expect(await refusal(() => {})).toBe('llama: the model file FILE does not exist')
  expect(await refusal((file) => mkdirSync(file))).toBe('llama: FILE is not a file; name the GGUF file itself')
  expect(await refusal((file) => writeFileSync(file, ''))).toBe('llama: FILE is not a GGUF file: it is empty')
  const garbage = (file: string): void => writeFileSync(file, 'x'.repeat(100_000))
  expect(await refusal(garbage)).toBe('llama: FILE is not a GGUF file: it does not begin with "GGUF"')
})

const whole = readFileSync(skipper)

test('a file that was cut off says so', async () => {
  const cut = (file: string): void => writeFileSync(file, whole.subarray(0, 3_000_000))
  expect(await refusal(cut)).toMatch(/^llama: cannot load FILE: .*not within the file bounds/)
  const header = (file: string): void => writeFileSync(file, whole.subarray(0, 300))
  expect(await refusal(header)).toMatch(/^llama: cannot load FILE: its header is cut off or damaged: /)
})

test('a file with nonsense inside says so', async () => {
  const nonsense = (file: string): void =>
    writeFileSync(file, Buffer.concat([whole.subarray(0, 24), Buffer.alloc(9000, 7)]))
  expect(await refusal(nonsense)).toMatch(/^llama: cannot load FILE: its header is cut off or damaged: /)
})

test('a model of an architecture that llama.cpp does not know says so', async () => {
  const changed = Buffer.from(whole.toString('latin1').replaceAll('llama', 'lxxma'), 'latin1')
  expect(await refusal((file) => writeFileSync(file, changed))).toMatch(/^llama: cannot load FILE: .*lxxma/)
})

test('a model that is larger than the free memory says so', async () => {
  const large = (file: string): void => {
    copyFileSync(skipper, file)
    // Without blocks on the disk.
    truncateSync(file, 2 ** 42)
  }
  expect(await refusal(large)).toMatch(/^llama: out of memory: FILE has 4194304 MiB, and \d+ MiB are free/)
})

test('a context that no machine has the memory for says so', async () => {
  const copy = (file: string): void => copyFileSync(skipper, file)
  const said = await refusal(copy, ['--context', '10000000', '--parallel', '64'])
  expect(said).toMatch(/^llama: out of memory: a context of 64 x 10000000 tokens needs \d+ MiB/)
})

test('without its library it says how to get it', async () => {
  const engine = await spawnLlama(['--model', skipper, '--library', '/nowhere/library.mjs'])
  expect((await engine.exited).code).toBe(1)
  expect(engine.output()).toContain('flotilla engines install llama')
})

test('while it loads it says how far it is, and what is asked then is to be asked again', async () => {
  const engine = await spawnLlama(['--model', skipper])
  await until(() => engine.output().includes('listening on '))
  const [, url] = /listening on (\S+)/.exec(engine.output())!
  const health = await fetch(`${url}/health`)
  const early = await fetch(`${url}/v1/completions`, { method: 'POST', body: '{"prompt":"a"}' })
  await until(async () => (await fetch(`${url}/health`)).status === 200)
  if (health.status === 503) {
    expect(await health.json()).toMatchObject({ status: 'loading', progress: expect.any(Number) })
  }
  expect([200, 503]).toContain(early.status)
  expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: 'ok', threads: 1, slots: 4 })
})

test('a running answer is finished before it stops; then it is gone', async () => {
  const engine = await startLlama()
  const body = JSON.stringify({ prompt: 'A slot is', temperature: 0, max_tokens: 60, stream: true, ignore_eos: true })
  const answer = await fetch(`${engine.url}/v1/completions`, { method: 'POST', body })
  engine.child.kill('SIGTERM')
  expect(await answer.text()).toContain('[DONE]')
  expect(await engine.exited).toEqual({ code: 0, signal: null })
})

test('killed in the middle of an answer, the client notices', async () => {
  const engine = await startLlama()
  const body = JSON.stringify({ prompt: 'A slot is', max_tokens: 480, stream: true, ignore_eos: true })
  const answer = await fetch(`${engine.url}/v1/completions`, { method: 'POST', body })
  engine.child.kill('SIGKILL')
  await expect(answer.text()).rejects.toThrow('terminated')
})

test('two processes give the same greedy answers, and one whose file is deleted goes on', async () => {
  const file = join(tempFolder(), 'copy.gguf')
  copyFileSync(skipper, file)
  const [one, other] = await Promise.all([startLlama(), startLlama(['--model', file])])
  rmSync(file)
  const ask = async (url: string, question: string): Promise<string> => {
    const body = JSON.stringify({ temperature: 0, messages: [{ role: 'user', content: question }] })
    const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body })
    return ((await answer.json()) as { choices: [{ message: { content: string } }] }).choices[0].message.content
  }
  for (const question of ['What is a slot?', 'why is my model unsatisfiable?', 'What is the capital of France?']) {
    expect(await ask(one.url, question)).toBe(await ask(other.url, question))
  }
})

test('it ends when the worker that holds its stdin does', async () => {
  const engine = await startLlama()
  engine.child.stdin!.end()
  expect((await engine.exited).code).toBe(0)
})
