import { useEffect, useRef, useState } from 'react'
import { useSession } from '../../shell/session.tsx'
import { ask, type Wish } from './ask.ts'
import { readChat, type ChatPart } from './chat-stream.ts'

/** One answer: what was said, how it went, and how fast. */
export interface Turn {
  id: number
  question: string
  model: string
  text: string
  state: 'waiting' | 'loading' | 'answering' | 'done' | 'stopped' | 'failed'
  loading: Extract<ChatPart, { kind: 'loading' }> | undefined
  error: string | undefined
  requestId: string | undefined
  /** Who answered, where the gateway tells it in headers. */
  served: { node: string; replica: string } | undefined
  firstTokenMs: number | undefined
  /** From the first token to the last. */
  spokeMs: number | undefined
  tokens: number | undefined
}

interface Chat {
  turns: readonly Turn[]
  isBusy: boolean
  send: (question: string, wish: Omit<Wish, 'messages'>, system: string) => void
  stop: () => void
  clear: () => void
}

/** A conversation. It is kept in the page only. */
export function useChat(): Chat {
  const { isSignedIn } = useSession()
  const [turns, setTurns] = useState<readonly Turn[]>([])
  const running = useRef<AbortController>(undefined)
  const nextId = useRef(0)
  useEffect(() => () => running.current?.abort(), [])

  const change = (id: number, part: (turn: Turn) => Partial<Turn>): void =>
    setTurns((all) => all.map((turn) => (turn.id === id ? { ...turn, ...part(turn) } : turn)))

  const send: Chat['send'] = (question, wish, system) => {
    const id = (nextId.current += 1)
    const controller = new AbortController()
    running.current = controller
    setTurns((all) => [...all, { ...BLANK, id, question, model: wish.model }])
    const answered = turns.filter(({ text }) => text !== '')
    const messages = [
      ...(system.trim() === '' ? [] : [{ role: 'system' as const, content: system }]),
      ...answered.flatMap((turn) => [
        { role: 'user' as const, content: turn.question },
        { role: 'assistant' as const, content: turn.text },
      ]),
      { role: 'user' as const, content: question },
    ]
    void answer({ ...wish, messages }, isSignedIn, controller.signal, (part) => change(id, part)).finally(() => {
      if (running.current === controller) running.current = undefined
    })
  }
  return {
    turns,
    isBusy: turns.some(({ state }) => state === 'waiting' || state === 'loading' || state === 'answering'),
    send,
    stop: () => running.current?.abort(),
    clear: () => {
      running.current?.abort()
      setTurns([])
    },
  }
}

const BLANK: Omit<Turn, 'id' | 'question' | 'model'> = {
  text: '',
  state: 'waiting',
  loading: undefined,
  error: undefined,
  requestId: undefined,
  served: undefined,
  firstTokenMs: undefined,
  spokeMs: undefined,
  tokens: undefined,
}

async function answer(
  wish: Wish,
  isSignedIn: boolean,
  signal: AbortSignal,
  change: (part: (turn: Turn) => Partial<Turn>) => void,
): Promise<void> {
  const askedMs = performance.now()
  let firstMs = 0
  try {
    const response = await ask(wish, isSignedIn, signal)
    const { headers } = response
    const [node, replica] = [headers.get('x-flotilla-node'), headers.get('x-flotilla-replica')]
    change(() => ({
      requestId: headers.get('x-request-id') ?? undefined,
      served: node !== null && replica !== null ? { node: decodeURI(node), replica } : undefined,
    }))
    for await (const part of readChat(response.body!)) {
      if (part.kind === 'error') throw new Error(part.message)
      if (part.kind === 'loading') change(() => ({ state: 'loading', loading: part }))
      if (part.kind === 'usage') change(() => ({ tokens: part.completionTokens }))
      if (part.kind !== 'text') continue
      const nowMs = performance.now()
      if (firstMs === 0) firstMs = nowMs
      const spokeMs = nowMs - firstMs
      change(({ text }) => ({ text: text + part.text, state: 'answering', firstTokenMs: firstMs - askedMs, spokeMs }))
    }
    change(() => ({ state: 'done' }))
  } catch (error) {
    if (signal.aborted) return change(() => ({ state: 'stopped' }))
    const text =
      error instanceof TypeError ? 'The connection was lost before the answer was complete.' : (error as Error).message
    change(() => ({ state: 'failed', error: text }))
  }
}
