import { onTestFinished } from 'vitest'
import { liveMessage, type LiveMessage } from '../../../src/api/admin/live-schemas.ts'
import { ADMIN_KEY } from './control-scene.ts'

export type Items = Map<string, Record<string, unknown>>

/** What somebody knows who has read all messages so far. */
export interface LiveState {
  nodes: Items
  replicas: Items
  models: Items
  rules: Items
  problems: LiveMessage['problems']
  traffic: LiveMessage['traffic']
  newestEvent: number
}

export interface LiveWatcher {
  status: number
  messages: LiveMessage[]
  state: () => LiveState
  ended: Promise<void>
  stop: () => void
}

/** Somebody who watches the cluster, until the test ends. */
export async function watchCluster(url: string, key = ADMIN_KEY): Promise<LiveWatcher> {
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const response = await fetch(`${url}/api/live`, {
    headers: { authorization: `Bearer ${key}` },
    signal: stop.signal,
  })
  const messages: LiveMessage[] = []
  const read = async (): Promise<void> => {
    let rest = ''
    for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + text).split('\n\n')
      rest = blocks.pop()!
      const data = blocks.filter((block) => block.startsWith('data: '))
      messages.push(...data.map((block) => liveMessage.parse(JSON.parse(block.slice('data: '.length)))))
    }
  }
  const ended = read().catch(() => {})
  return { status: response.status, messages, state: () => stateAfter(messages), ended, stop: () => stop.abort() }
}

export function stateAfter(messages: readonly LiveMessage[]): LiveState {
  const state: LiveState = {
    nodes: new Map(),
    replicas: new Map(),
    models: new Map(),
    rules: new Map(),
    problems: null,
    traffic: null,
    newestEvent: -1,
  }
  for (const message of messages) {
    applyChanges(state.nodes, message.nodes, 'id')
    applyChanges(state.replicas, message.replicas, 'id')
    applyChanges(state.models, message.models, 'name')
    applyChanges(state.rules, message.rules, 'model_name')
    state.problems = message.problems ?? state.problems
    state.traffic = message.traffic ?? state.traffic
    state.newestEvent = message.newest_event
  }
  return state
}

/** As a reader does it. */
export function applyChanges(
  items: Items,
  { set, patch, gone }: { set: readonly object[]; patch: Record<string, Record<string, unknown>>; gone: string[] },
  idField: string,
): void {
  for (const id of gone) items.delete(id)
  for (const [id, fields] of Object.entries(patch)) items.set(id, { ...items.get(id), ...fields })
  for (const item of set) items.set(String((item as Record<string, unknown>)[idField]), item as Record<string, unknown>)
}
