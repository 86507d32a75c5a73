import type { NodeView } from '../../api/admin/schemas.ts'
import { AppError } from '../../platform/errors.ts'
import { show, viewOf, type Client } from '../client.ts'
import { plain } from '../terminal/text-width.ts'
import { renderLabels } from './labels.ts'

/** Sets and removes labels; without any it shows those there are. */
export async function label(client: Client, { id }: NodeView, words: readonly string[]): Promise<number> {
  const patch = parsePatch(words)
  const reply =
    words.length === 0
      ? await client.api.call('getLabels', { id })
      : await client.api.call('patchLabels', { id }, patch)
  for (const [key, value] of Object.entries(patch)) {
    const source = reply.label_sources[key]
    if (value === null && (source === 'worker' || source === 'auto')) {
      const whose = source === 'worker' ? 'the worker declares it' : 'it follows from the machine'
      client.terminal.note(`${plain(key)} is still there: ${whose}. A value set here would win.`)
    }
  }
  return show(client, reply, () => renderLabels(reply, viewOf(client)))
}

/** `key=value` sets, `key-` removes. */
function parsePatch(words: readonly string[]): Record<string, string | null> {
  return Object.fromEntries(
    words.map((word): [string, string | null] => {
      const at = word.indexOf('=')
      if (at > 0) return [word.slice(0, at), word.slice(at + 1)]
      if (at < 0 && word.length > 1 && word.endsWith('-')) return [word.slice(0, -1), null]
      const expected = 'expected key=value to set a label or key- to remove one'
      throw new AppError('usage', `flotilla nodes label: ${expected}, got "${plain(word)}".`)
    }),
  )
}
