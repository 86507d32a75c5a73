/** One thing that a stream of a chat says. */
export type ChatPart =
  | { kind: 'text'; text: string }
  | { kind: 'loading'; state: string; node: string | null; percent: number }
  | { kind: 'usage'; completionTokens: number }
  | { kind: 'error'; message: string }

interface ChatEvent {
  error?: { message?: string }
  choices?: { delta?: { content?: string | null; reasoning_content?: string | null } }[]
  usage?: { completion_tokens?: number } | null
}

/** The parts of an answer as they come, from the bytes of `/v1/chat/completions`. */
export async function* readChat(body: ReadableStream<Uint8Array>): AsyncGenerator<ChatPart> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      const lines = (rest + (value ?? '')).split('\n')
      rest = done ? '' : lines.pop()!
      for (const line of lines) yield* partsOf(line.trimEnd())
      if (done) return
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** What one line of the stream says. Comments tell how far the load of a model is. */
export function partsOf(line: string): ChatPart[] {
  if (line.startsWith(': loading')) return [loadingOf(line)]
  if (!line.startsWith('data:')) return []
  const data = line.slice('data:'.length).trim()
  if (data === '[DONE]') return []
  const event = parsed(data)
  if (!event) return []
  if (event.error) return [{ kind: 'error', message: event.error.message ?? 'The engine failed without a reason.' }]
  const text = event.choices?.[0]?.delta?.content ?? ''
  const tokens = event.usage?.completion_tokens
  return [
    ...(text === '' ? [] : [{ kind: 'text' as const, text }]),
    ...(tokens === undefined ? [] : [{ kind: 'usage' as const, completionTokens: tokens }]),
  ]
}

function parsed(data: string): ChatEvent | undefined {
  try {
    return JSON.parse(data) as ChatEvent
  } catch {
    return undefined
  }
}

/** `: loading model=m state=staging node=thor progress=43`. */
function loadingOf(line: string): ChatPart {
  const facts = new Map([...line.matchAll(/ (state|node|progress)=(\S+)/g)].map(([, key, value]) => [key, value!]))
  return {
    kind: 'loading',
    state: facts.get('state') ?? 'waiting',
    node: facts.get('node') ?? null,
    percent: Number(facts.get('progress') ?? 0),
  }
}
