import type { Look, Paint } from './style.ts'
import { pad, truncate, widthOf } from './text-width.ts'

export interface Column {
  /** Two words go on two lines where the table is too wide. */
  title: string
  align?: 'left' | 'right'
  /** May be cut to so many columns; those with a smaller `turn` first. */
  shrink?: { to: number; turn: number }
  /** Left out where it is `-` in every row: the others need its room. */
  optional?: true
}

export interface Cell {
  text: string
  look?: Look
}

export interface TableOptions {
  width: number
  paint: Paint
  indent?: number
}

const GAP = '  '

/** A table of plain text that fits `width` as far as its columns may shrink. Returns its lines. */
export function table(
  all: readonly Column[],
  rows: readonly (readonly (Cell | string)[])[],
  { width, paint, indent = 0 }: TableOptions,
): string[] {
  const every = rows.map((row) => row.map((cell) => (typeof cell === 'string' ? { text: cell } : cell)))
  const isShown = all.map(({ optional }, i) => !optional || every.some((row) => row[i]!.text !== '-'))
  const columns = all.filter((_, i) => isShown[i])
  const cells = every.map((row) => row.filter((_, i) => isShown[i]))
  const room = width - indent - GAP.length * (columns.length - 1)
  const widest = (i: number): number => Math.max(0, ...cells.map((row) => widthOf(row[i]!.text)))
  const natural = (titles: readonly string[][]): number[] =>
    titles.map((lines, i) => Math.max(widest(i), ...lines.map(widthOf)))

  let titles = columns.map(({ title }) => [title])
  if (sum(natural(titles)) > room) titles = columns.map(({ title }) => title.split(' '))
  const widths = shrink(natural(titles), columns, room)

  const line = (texts: readonly Cell[]): string =>
    ' '.repeat(indent) +
    texts
      .map(({ text, look }, i) => {
        const isLast = i === texts.length - 1
        const cut = truncate(text, widths[i]!)
        const align = columns[i]!.align ?? 'left'
        // No spaces at the end of a line: they are in the way when it is copied.
        const space = isLast && align === 'left' ? '' : pad('', widths[i]! - widthOf(cut))
        const painted = look ? paint(look, cut) : cut
        return align === 'left' ? painted + space : space + painted
      })
      .join(GAP)
      .trimEnd()

  return [...titleLines(titles).map((texts) => line(texts.map((text) => ({ text, look: 'dim' })))), ...cells.map(line)]
}

/** Titles stand at the bottom of the lines they share. */
function titleLines(titles: readonly string[][]): string[][] {
  const height = Math.max(...titles.map((lines) => lines.length))
  return Array.from({ length: height }, (_, row) => titles.map((lines) => lines[row - (height - lines.length)] ?? ''))
}

function shrink(widths: readonly number[], columns: readonly Column[], room: number): number[] {
  const shrunk = [...widths]
  const turns = columns
    .flatMap((column, i) => (column.shrink ? [{ i, ...column.shrink }] : []))
    .toSorted((a, b) => a.turn - b.turn)
  for (const { i, to } of turns) {
    const surplus = sum(shrunk) - room
    if (surplus > 0) shrunk[i] = Math.max(Math.min(to, shrunk[i]!), shrunk[i]! - surplus)
  }
  return shrunk
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
