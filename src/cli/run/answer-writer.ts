import { painter } from '../terminal/style.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plain, truncate } from '../terminal/text-width.ts'
import type { Listener } from './ask-model.ts'
import { WordWrap } from './word-wrap.ts'

export interface AnswerWriter extends Listener {
  /** Ends the line that it is in, if it is in one. */
  end(): void
}

/**
 * Shows an answer as it comes: the text alone to a pipe; on a terminal also the loading progress and the model's
 * thoughts.
 */
export function answerWriter(terminal: Terminal, model: string): AnswerWriter {
  const paint = painter(terminal.colour)
  // A pipe gets the text as it is.
  const wrap = terminal.screen ? new WordWrap(terminal.columns) : undefined
  let isInLine = false
  let isThinking = false
  let isLoading = false
  let toldLoading = ''
  const loaded = (): void => {
    if (isLoading) terminal.live('')
    isLoading = false
  }
  const write = (text: string): void => {
    loaded()
    terminal.write(text)
    if (text !== '') isInLine = !text.endsWith('\n')
  }
  const endLine = (): void => {
    if (isInLine) terminal.write('\n')
    isInLine = false
  }
  return {
    onText(text) {
      if (isThinking) endLine()
      isThinking = false
      write(wrap ? wrap.feed(visible(text)) : text)
    },
    onThought(text) {
      if (!terminal.screen) return
      isThinking = true
      write(paint('dim', visible(text)))
    },
    onLoading(text) {
      const line = truncate(`${plain(model)}: ${text}`, terminal.columns - 1)
      if (line === toldLoading && !terminal.interactive) return
      toldLoading = line
      isLoading = true
      terminal.live(line)
    },
    end() {
      loaded()
      if (wrap) write(wrap.flush())
      endLine()
    },
  }
}

/** Without characters that move the cursor or change colours; a model may write any. */
function visible(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, '')
}
