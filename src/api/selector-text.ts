import { readSelectorText, type ReadSelector } from '../core/nodes/selector-text.ts'
import { selector } from './selector.ts'

/** Reads a selector in one line, or in JSON. What no node could ever meet is refused. */
export function parseSelector(text: string): ReadSelector {
  const given = readSelectorText(text)
  if (!given.ok) return given
  const { data, error } = selector.safeParse(given.selector)
  if (data) return { ok: true, selector: data }
  const { path, message } = error.issues[0]!
  return { ok: false, problem: path.length === 0 ? message : `${path.join('.')}: ${message}` }
}
