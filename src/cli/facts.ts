import type { View } from './client.ts'
import { plain } from './terminal/text-width.ts'
import { wrap } from './terminal/wrap.ts'

const INDENT = 2
const NAME_WIDTH = 11

/** A name, and texts that each begin on a line of their own. */
export type Fact = readonly [name: string, ...texts: string[]]

/** Facts about one thing: names to the left, texts wrapped beside them. One without a text is left out. */
export function facts(all: readonly Fact[], { width, paint }: View): string[] {
  const left = INDENT + NAME_WIDTH
  return all.flatMap(([name, ...texts]) =>
    texts
      .flatMap((text) => wrap(plain(text), width - left))
      .map((line, i) => ' '.repeat(INDENT) + paint('dim', (i === 0 ? name : '').padEnd(NAME_WIDTH)) + line),
  )
}
