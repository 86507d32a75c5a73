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
  /** Where the table is too wide all the same, those with a smaller number are left out first, and the others from the end. */
  spare?: number
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
/** What a row is about, and one thing that is said of it. */
const LEAST_COLUMNS = 2

/** A table of plain text that fits `width`: columns shrink as far as they may, then some are left out. Returns its lines. */
export function table(
  all: readonly Column[],
  rows: readonly (readonly (Cell | string)[])[],
  { width, paint, indent = 0 }: TableOptions,
): string[] {
  const every = rows.map((row) => row.map((cell) => (typeof cell === 'string' ? { text: cell } : cell)))
  const isFilled = all.map(({ optional }, i) => !optional || every.some((row) => row[i]!.text !== '-'))
  const widthsOf = (kept: readonly number[]): { titles: string[][]; widths: number[]; isWide: boolean } => {
    const columns = kept.map((i) => all[i]!)
    const room = width - indent - GAP.length * (columns.length - 1)
    const natural = (titles: readonly string[][]): number[] =>
      titles.map((lines, at) => {
        const texts = every.map((row) => widthOf(row[kept[at]!]!.text))
        return Math.max(0, ...texts, ...lines.map(widthOf))
      })
    let titles = columns.map(({ title }) => [title])
    if (sum(natural(titles)) > room) titles = columns.map(({ title }) => title.split(' '))
    const widths = shrink(natural(titles), columns, room)
    return { titles, widths, isWide: sum(widths) > room }
  }
  let kept = all.flatMap((_, i) => (isFilled[i] ? [i] : []))
  while (widthsOf(kept).isWide && kept.length > LEAST_COLUMNS) kept = kept.filter((i) => i !== leastOf(kept, all))
  const { titles, widths } = widthsOf(kept)
  const columns = kept.map((i) => all[i]!)
  const cells = every.map((row) => kept.map((i) => row[i]!))

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

/** The column that can be missed most easily. What a row is about comes first in it, and stays. */
function leastOf(kept: readonly number[], all: readonly Column[]): number {
  const spare = kept.filter((i) => all[i]!.spare !== undefined)
  return spare.toSorted((a, b) => all[a]!.spare! - all[b]!.spare!)[0] ?? kept.at(-1)!
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
