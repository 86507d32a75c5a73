import { AppError } from '../../platform/errors.ts'
import { painter } from '../terminal/style.ts'
import type { Client } from '../client.ts'
import { plain } from '../terminal/text-width.ts'
import { answerWriter } from './answer-writer.ts'
import { askModel, type Message, type ModelAnswer, type Question } from './ask-model.ts'
import { whoAnswered } from './who-answered.ts'

/** Beyond these the oldest are dropped; the limits of engines are far lower. */
const MOST_MESSAGES = 1000
const MOST_EARLIER = 500

const HELP = [
  '/replica  which replica gave the last answer',
  '/clear    forget what was said',
  '/exit     leave, as Ctrl-D does',
  '"""       begins and ends a text of several lines',
  'Ctrl-C stops an answer.',
]

/** Runs the conversation until you leave. */
export async function converse(client: Client, first: Omit<Question, 'messages'>, system: Message[]): Promise<number> {
  const { terminal, cluster } = client
  const paint = painter(terminal.colour)
  const messages: Message[] = []
  const earlier: string[] = []
  let lastId: string | undefined
  terminal.print(`${paint('bold', plain(first.model))} at ${cluster.url}. /help shows what there is; Ctrl-D leaves.`)
  for (;;) {
    const line = await readPrompt(client, earlier)
    if (line === undefined) return 0
    const text = line.trim()
    if (text === '') continue
    const isCommand = /^\/[a-z?]+$/.test(text)
    if (text === '/exit' || text === '/bye' || text === '/quit') return 0
    if (text === '/clear') {
      messages.length = 0
      terminal.print('What was said is forgotten.')
    } else if (text === '/replica') terminal.print(await whoAnswered(client, lastId))
    else if (isCommand)
      terminal.print(text === '/help' || text === '/?' ? HELP.join('\n') : `There is no ${text}.\n${HELP.join('\n')}`)
    else {
      messages.push({ role: 'user', content: text })
      const answer = await answerTo(client, { ...first, messages: [...system, ...messages] })
      // An unanswered message is dropped, or the next request would contain it.
      if (answer && answer.text !== '') messages.push({ role: 'assistant', content: answer.text })
      else messages.pop()
      lastId = answer?.requestId ?? lastId
      messages.splice(0, messages.length - MOST_MESSAGES)
    }
  }
}

/** Undefined when it failed; the error has been printed. */
async function answerTo({ cluster, terminal }: Client, question: Question): Promise<ModelAnswer | undefined> {
  const paint = painter(terminal.colour)
  const writer = answerWriter(terminal, question.model)
  const stop = new AbortController()
  const forget = terminal.onInterrupt(() => stop.abort())
  try {
    const answer = await askModel(cluster, question, writer, stop.signal)
    writer.end()
    if (answer.isStopped) terminal.note(paint('dim', '(stopped)'))
    else if (answer.finish === 'length') terminal.note(paint('dim', '(cut off: the answer is as long as it may be)'))
    return answer
  } catch (error) {
    writer.end()
    if (!(error instanceof AppError)) throw error
    terminal.note(paint('red', error.message))
    return undefined
  } finally {
    forget()
  }
}

/** One line, or all lines between `"""` and `"""`. */
async function readPrompt({ terminal }: Client, earlier: string[]): Promise<string | undefined> {
  const first = await terminal.readLine('> ', earlier)
  if (first === undefined) return undefined
  if (first.trim() !== '' && earlier.at(-1) !== first) earlier.push(first)
  earlier.splice(0, earlier.length - MOST_EARLIER)
  if (!first.startsWith('"""')) return first
  const lines = [first.slice(3)]
  while (!lines.at(-1)!.endsWith('"""')) {
    const next = await terminal.readLine('. ', [])
    if (next === undefined) break
    lines.push(next)
  }
  return lines.join('\n').replace(/"""$/, '')
}
