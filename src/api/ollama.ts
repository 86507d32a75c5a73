import { z } from 'zod'

/** The requests of Ollama's clients, as far as we support them. Unknown fields are dropped. */

const text = z.string().nullish()
const stream = z.boolean().nullish()
/** Bytes in base64; some clients send whole data URLs. */
const images = z.array(z.string()).max(100).nullish()
/** `json`, a JSON schema, or nothing. */
const format = z.union([z.literal(''), z.literal('json'), z.record(z.string(), z.unknown())]).nullish()
const think = z.union([z.boolean(), z.string()]).nullish()
/** Seconds, or a duration such as `5m`. */
const keepAlive = z.union([z.number(), z.string()]).nullish()
const options = z.record(z.string(), z.unknown()).nullish()
/** Old clients say `name`. */
const model = { model: z.string().optional(), name: z.string().optional() }

const toolCallSchema = z.object({
  id: z.string().nullish(),
  function: z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()).nullish() }),
})

const messageSchema = z.object({
  role: z.string(),
  content: text,
  thinking: text,
  images,
  tool_calls: z.array(toolCallSchema).nullish(),
  tool_call_id: text,
  tool_name: text,
})

export const ollamaChatSchema = z.object({
  ...model,
  messages: z.array(messageSchema).nullish(),
  tools: z.array(z.unknown()).nullish(),
  stream,
  format,
  think,
  options,
  keep_alive: keepAlive,
})

export const ollamaGenerateSchema = z.object({
  ...model,
  prompt: text,
  suffix: text,
  system: text,
  template: text,
  context: z.array(z.number()).nullish(),
  raw: z.boolean().nullish(),
  images,
  stream,
  format,
  think,
  options,
  keep_alive: keepAlive,
})

export const ollamaEmbedSchema = z.object({
  ...model,
  input: z.union([z.string(), z.array(z.string())]).nullish(),
  dimensions: z.number().int().positive().nullish(),
})

export const ollamaEmbeddingsSchema = z.object({ ...model, prompt: text })

export const ollamaShowSchema = z.object(model)

export type OllamaChat = z.infer<typeof ollamaChatSchema>
export type OllamaMessage = z.infer<typeof messageSchema>
export type OllamaGenerate = z.infer<typeof ollamaGenerateSchema>
export type OllamaEmbed = z.infer<typeof ollamaEmbedSchema>
