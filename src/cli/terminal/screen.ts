/** A whole terminal, for what is drawn over and over. */
export interface Screen {
  columns(): number
  rows(): number
  draw(lines: readonly string[]): void
  /** Gives the terminal back as it was. */
  close(): void
}

const ENTER = '\u001B[?1049h\u001B[?25l'
const LEAVE = '\u001B[?25h\u001B[?1049l'

/** Takes over the terminal. `onKey` is told of each key, and `onResize` when there is more or less room. */
export function openScreen(onKey: (key: string) => void, onResize: () => void): Screen {
  const { stdin, stdout } = process
  const hear = (bytes: Buffer): void => onKey(bytes.toString('utf8'))
  stdin.setRawMode?.(true)
  stdin.on('data', hear).resume()
  stdout.on('resize', onResize)
  stdout.write(ENTER)
  let isOpen = true
  const close = (): void => {
    if (!isOpen) return
    isOpen = false
    process.off('exit', close)
    stdout.off('resize', onResize)
    stdin.off('data', hear).pause()
    stdin.setRawMode?.(false)
    stdout.write(LEAVE)
  }
  // Whatever ends the program, the terminal is usable again.
  process.once('exit', close)
  return {
    columns: () => stdout.columns || 80,
    rows: () => stdout.rows || 24,
    // Each line is written over and its rest cleared, so that nothing flickers.
    draw: (lines) => void stdout.write(`\u001B[H${lines.map((line) => `${line}\u001B[K`).join('\r\n')}\u001B[J`),
    close,
  }
}
