import { Ollama } from 'ollama'
import { expect } from 'vitest'

/** What Ollama's own client finds, whichever engine is behind the model; run on the simulated one and on a real one. */
export async function checkOllama(url: string, key: string, model: string): Promise<void> {
  const ollama = new Ollama({ host: url, headers: { authorization: `Bearer ${key}` } })
  const { models } = await ollama.list()
  expect(models.map(({ name }) => name)).toContain(model)
  expect((await ollama.ps()).models.map(({ name }) => name)).toContain(model)
  expect(await ollama.version()).toMatchObject({ version: expect.stringMatching(/^\d/) })
  expect(await ollama.show({ model })).toMatchObject({ capabilities: expect.arrayContaining(['completion']) })

  const messages = [{ role: 'user', content: 'What is a slot?' }]
  const options = { temperature: 0, seed: 1, num_predict: 12 }
  const whole = await ollama.chat({ model: `${model}:latest`, messages, options })
  expect(whole.message.content).toMatch(/\w/)
  expect(whole).toMatchObject({ done: true, done_reason: 'length', eval_count: 12 })
  expect(whole.total_duration).toBeGreaterThan(0)

  let streamed = ''
  let last: unknown
  for await (const part of await ollama.chat({ model, messages, options, stream: true })) {
    streamed += part.message.content
    last = part
  }
  expect(streamed).toBe(whole.message.content)
  expect(last).toMatchObject({ done: true, done_reason: 'length', prompt_eval_count: whole.prompt_eval_count })

  const generated = await ollama.generate({ model, prompt: 'What is a slot?', options })
  expect(generated.response).toBe(whole.message.content)
  const { embeddings } = await ollama.embed({ model, input: ['one', 'two'] })
  expect(embeddings.map((vector) => vector.length > 0)).toEqual([true, true])
  await expect(ollama.chat({ model: 'no-such-model', messages })).rejects.toThrow('There is no model "no-such-model"')
}
