import { untilSignal } from '../platform/signals.ts'

/** Where a command speaks to a person or a pipe. */
export interface Terminal {
  columns: number
  colour: boolean
  /** Somebody is there to answer questions. */
  interactive: boolean
  /** What was asked for, to stdout. */
  print(text: string): void
  /** Resolves when a slow reader has taken what was printed; nothing when it has. Where it is missing nobody is slow. */
  taken?(): Promise<unknown> | undefined
  /** What a person should know beside it, to stderr: a pipe does not get it. */
  note(text: string): void
  /** A line that takes the place of the last one, or nothing; elsewhere than on a terminal every line stays. */
  live(text: string): void
  ask(question: string): Promise<string>
  /** Aborted by Ctrl-C. Until this is called, Ctrl-C ends the program as always. */
  interrupted(): AbortSignal
}

export function processTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process
  // `flotilla nodes | head` closes the pipe early, which is nobody's mistake.
  stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  return {
    columns: stdout.columns || 80,
    colour: stdout.isTTY && !env['NO_COLOR'],
    interactive: stdin.isTTY && stderr.isTTY,
    print: (text) => void stdout.write(`${text}\n`),
    taken: () => (stdout.writableNeedDrain ? new Promise((resolve) => stdout.once('drain', resolve)) : undefined),
    note: (text) => void stderr.write(`${text}\n`),
    live(text) {
      if (stderr.isTTY) stderr.write(`\r${text}\u001B[K`)
      else if (text !== '') stderr.write(`${text}\n`)
    },
    async ask(question) {
      const { createInterface } = await import('node:readline/promises')
      const lines = createInterface({ input: stdin, output: stderr })
      // Ctrl-C and Ctrl-D at the question are a no; the line they leave behind is ended.
      const gone = new Promise<undefined>((resolve) => lines.once('close', () => resolve(undefined)))
      const answer = await Promise.race([lines.question(question), gone])
      if (answer === undefined) stderr.write('\n')
      lines.close()
      return answer ?? ''
    },
    interrupted() {
      const controller = new AbortController()
      void untilSignal().then(() => controller.abort())
      return controller.signal
    },
  }
}
