import { ApiError, call } from '../../api/call.ts'

export interface ChatMessage {
  role: 'user' | 'assistant' | 'system'
  content: string
}

export interface Wish {
  model: string
  messages: readonly ChatMessage[]
  temperature: number | undefined
  maxTokens: number | undefined
}

/** Of the session, for inference alone. Kept while the page is open, and nowhere else. */
let key: string | undefined
/** A new key is known to every gateway within a moment. */
const KEY_TRIES = 10
const KEY_WAIT_MS = 300

/**
 * Asks a model. On the frontend's own machine no key may be needed; else the session has one, which ends with it. The cookie
 * of the session is sent to the admin API only.
 */
export async function ask(wish: Wish, isSignedIn: boolean, signal: AbortSignal): Promise<Response> {
  const response = await send(wish, signal)
  if (response.status !== 401 || !isSignedIn) return checked(response)
  const { token } = await call('createInferenceToken')
  if (token === null) return checked(response)
  key = token
  for (let i = 0; i < KEY_TRIES; i += 1) {
    const again = await send(wish, signal)
    if (again.status !== 401) return checked(again)
    await new Promise((resolve) => setTimeout(resolve, KEY_WAIT_MS))
  }
  return checked(await send(wish, signal))
}

/** Names of models that can be asked, for whoever is not signed in. */
export async function listModels(): Promise<string[]> {
  const response = await checked(await fetch('/v1/models', { headers: bearer(), credentials: 'omit' }))
  const { data } = (await response.json()) as { data: { id: string }[] }
  return data.map(({ id }) => id)
}

function send({ model, messages, temperature, maxTokens }: Wish, signal: AbortSignal): Promise<Response> {
  return fetch('/v1/chat/completions', {
    method: 'POST',
    credentials: 'omit',
    headers: { 'content-type': 'application/json', 'x-flotilla-wait': 'keep-alive', ...bearer() },
    body: JSON.stringify({
      model,
      messages,
      stream: true,
      stream_options: { include_usage: true },
      ...(temperature === undefined ? {} : { temperature }),
      ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    }),
    signal,
  })
}

function bearer(): Record<string, string> {
  return key === undefined ? {} : { authorization: `Bearer ${key}` }
}

async function checked(response: Response): Promise<Response> {
  if (response.ok) return response
  const json = (await response.json().catch(() => undefined)) as { error?: Record<string, unknown> } | undefined
  throw new ApiError(response.status, json?.error ?? {})
}
