import { AppError } from '../../platform/errors.ts'
import { untilSignal } from '../../platform/run/signals.ts'
import { knowsUtf8, toAscii, wantsColour } from '../../platform/terminal-looks.ts'
import { openScreen } from './screen.ts'
import { cutWith } from './text-width.ts'

/** The terminal or pipe of a command. */
export interface Terminal {
  columns: number
  colour: boolean
  /** A person can answer questions. */
  interactive: boolean
  /** stdout is a screen, not a file or a pipe. */
  screen: boolean
  /** What was asked for, to stdout. */
  print(text: string): void
  /**
   * Resolves when a slow reader has taken the printed text; undefined when it has. Absent if the reader is never slow.
   */
  taken?(): Promise<unknown> | undefined
  /** A remark for a person, to stderr: a pipe does not get it. */
  note(text: string): void
  /** A line that takes the place of the last one, or nothing; elsewhere than on a terminal every line stays. */
  live(text: string): void
  ask(question: string): Promise<string>
  /** Text to stdout as it is and as it comes, without the end of a line. */
  write(text: string): void
  /** One line that a person types, with earlier ones to go back to; `undefined` when there are no more (Ctrl-D). */
  readLine(prompt: string, earlier: readonly string[]): Promise<string | undefined>
  /** The piped input, up to this many bytes; undefined on a terminal. */
  readInput(mostBytes: number): Promise<string | undefined>
  /** Calls back at each Ctrl-C until it is undone. */
  onInterrupt(act: () => void): () => void
  /** Aborted by Ctrl-C. Until this is called, Ctrl-C ends the program as always. */
  interrupted(): AbortSignal
  /** Takes over the whole of it; missing where there is nothing to take over. */
  openScreen?: typeof openScreen
}

export function processTerminal(): Terminal {
  const { stdin, stdout, stderr } = process
  const isUtf8 = knowsUtf8()
  const shown = isUtf8 ? (text: string): string => text : toAscii
  if (!isUtf8) cutWith('...')
  // `flotilla nodes | head` closes the pipe early, which is not an error.
  stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  return {
    columns: stdout.columns || 80,
    colour: wantsColour(stdout),
    interactive: stdin.isTTY && stderr.isTTY,
    screen: stdout.isTTY,
    print: (text) => void stdout.write(`${shown(text)}\n`),
    taken: () => (stdout.writableNeedDrain ? new Promise((resolve) => stdout.once('drain', resolve)) : undefined),
    note: (text) => void stderr.write(`${shown(text)}\n`),
    live(given) {
      const text = shown(given)
      if (stderr.isTTY) stderr.write(`\r${text}\u001B[K`)
      else if (text !== '') stderr.write(`${text}\n`)
    },
    async ask(question) {
      const { createInterface } = await import('node:readline/promises')
      const lines = createInterface({ input: stdin, output: stderr })
      // Ctrl-C and Ctrl-D at the question are a no; the line they leave behind is ended.
      const gone = new Promise<undefined>((resolve) => lines.once('close', () => resolve(undefined)))
      const answer = await Promise.race([lines.question(shown(question)), gone])
      if (answer === undefined) stderr.write('\n')
      lines.close()
      return answer ?? ''
    },
    write: (text) => void stdout.write(text),
    readLine: (prompt, earlier) => readLine(prompt, earlier),
    readInput: (mostBytes) => readInput(mostBytes),
    onInterrupt(act) {
      process.on('SIGINT', act)
      return () => void process.off('SIGINT', act)
    },
    ...(stdout.isTTY && stdin.isTTY ? { openScreen } : {}),
    interrupted() {
      const controller = new AbortController()
      void untilSignal().then(() => controller.abort())
      return controller.signal
    },
  }
}

/** Lines in faster succession than typing were pasted, and belong together. */
const PASTED_WITHIN_MS = 15

/**
 * The terminal is ours only while a line is typed: in between it is as it was, so that Ctrl-C reaches the program. Ctrl-C
 * at the prompt throws away what was typed.
 */
async function readLine(prompt: string, earlier: readonly string[]): Promise<string | undefined> {
  const { createInterface } = await import('node:readline')
  const { stdin, stdout } = process
  return new Promise((resolve) => {
    // Readline has the latest first.
    const lines = createInterface({ input: stdin, output: stdout, prompt, history: earlier.toReversed() })
    const typed: string[] = []
    let timer: NodeJS.Timeout | undefined
    lines.on('line', (line) => {
      typed.push(line)
      clearTimeout(timer)
      timer = setTimeout(() => {
        // The last line of what was pasted may have no end.
        if (lines.line !== '') typed.push(lines.line)
        lines.close()
      }, PASTED_WITHIN_MS)
    })
    lines.on('SIGINT', () => {
      typed.splice(0, typed.length, '')
      stdout.write('^C\n')
      lines.close()
    })
    lines.once('close', () => {
      clearTimeout(timer)
      // After Ctrl-D the cursor is still behind the prompt.
      if (typed.length === 0) stdout.write('\n')
      resolve(typed.length === 0 ? undefined : typed.join('\n'))
    })
    lines.prompt()
  })
}

async function readInput(mostBytes: number): Promise<string | undefined> {
  const { stdin } = process
  if (stdin.isTTY) return undefined
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > mostBytes) throw new AppError('usage', `More than ${mostBytes} bytes were piped in; that is too long.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
