import { AppError } from '../../platform/errors.ts'
import { INTERRUPTED, type Act, type Client, type Given } from '../client.ts'
import { findNamed } from '../find-one.ts'
import { servedModels } from '../served-models.ts'
import { plain } from '../terminal/text-width.ts'
import { answerWriter } from './answer-writer.ts'
import { askModel, type Message, type Question } from './ask-model.ts'
import { converse } from './conversation.ts'

const MOST_INPUT_BYTES = 4 * 1024 * 1024

/** One answer to a prompt, or a conversation. */
export const runModel: Act = async (client, given) => {
  const { values, own } = given
  const model = values[0]!
  const settings = parseSettings(own)
  const system: Message[] = own.has('system') ? [{ role: 'system', content: own.get('system')! }] : []
  const prompt = await readPrompt(client, given)
  if (prompt !== undefined) return answerOnce(client, { model, settings, messages: [...system, prompt] })
  if (client.json) throw mistake('--json needs a prompt')
  // Checked now rather than after the first question.
  findNamed('model', model, await servedModels(client.cluster))
  return converse(client, { model, settings }, system)
}

/** Undefined on a terminal: a conversation. */
async function readPrompt({ terminal }: Client, { values, own, rest }: Given): Promise<Message | undefined> {
  const said = [...values.slice(1), ...(rest ?? [])].join(' ')
  // With a prompt argument, stdin is read only on request: in a shell loop it belongs to the loop.
  const isPiped = said === '' || own.has('stdin')
  const piped = isPiped ? await terminal.readInput(MOST_INPUT_BYTES) : undefined
  if (said === '' && piped === undefined) return undefined
  const content = [said, piped?.trim() ?? ''].filter((text) => text !== '').join('\n\n')
  if (content === '') throw mistake('nothing was asked: the input is empty')
  return { role: 'user', content }
}

async function answerOnce(client: Client, question: Question): Promise<number> {
  const { terminal, cluster, json } = client
  const stop = new AbortController()
  const forget = terminal.onInterrupt(() => stop.abort())
  const writer = answerWriter(terminal, question.model)
  const listener = json ? { ...writer, onText: () => {}, onThought: () => {} } : writer
  try {
    const answer = await askModel(cluster, question, listener, stop.signal)
    writer.end()
    const { text, finish, usage, requestId } = answer
    const body = { request_id: requestId ?? null, model: question.model, content: text, finish_reason: finish, usage }
    if (json) terminal.print(JSON.stringify(body, null, 2))
    else if (finish === 'length') terminal.note('(cut off: the answer is as long as it may be)')
    return answer.isStopped ? INTERRUPTED : 0
  } finally {
    writer.end()
    forget()
  }
}

function parseSettings(own: ReadonlyMap<string, string>): Record<string, number> {
  const settings: Record<string, number> = {}
  for (const [flag, name, pattern] of FLAGS) {
    const text = own.get(flag)
    if (text === undefined) continue
    if (!pattern.test(text)) throw mistake(`--${flag}: expected a number, got "${plain(text)}"`)
    settings[name] = Number(text)
  }
  return settings
}

const FLAGS = [
  ['temperature', 'temperature', /^\d{1,2}(\.\d{1,9})?$/],
  ['max-tokens', 'max_tokens', /^[1-9]\d{0,8}$/],
  ['seed', 'seed', /^\d{1,9}$/],
] as const

function mistake(what: string): AppError {
  return new AppError('usage', `flotilla run: ${what}.`)
}
