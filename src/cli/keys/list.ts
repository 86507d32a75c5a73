import type { KeyView } from '../../api/admin/schemas.ts'
import type { View } from '../client.ts'
import { few, span } from '../terminal/format.ts'
import type { Look } from '../terminal/style.ts'
import { table } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'

const stateLooks: Record<KeyView['state'], Look> = { active: 'green', expired: 'red', revoked: 'red' }

export function renderKeys(keys: readonly KeyView[], view: View): string[] {
  if (keys.length === 0) {
    return ['There are no API keys. This makes one:', `  flotilla keys create --name <name>${view.sameCluster}`]
  }
  return table(
    [
      { title: 'NAME', shrink: { to: 8, turn: 3 } },
      { title: 'STATE' },
      { title: 'SCOPE' },
      { title: 'MODELS', shrink: { to: 8, turn: 2 } },
      { title: 'EXPIRES' },
      { title: 'ID', shrink: { to: 9, turn: 1 } },
    ],
    keys.map((key) => [
      plain(key.name),
      { text: key.state, look: stateLooks[key.state] },
      key.scopes.includes('admin') ? 'admin' : key.scopes.join(', '),
      modelsOf(key),
      expiry(key, view),
      key.id,
    ]),
    view,
  )
}

function expiry({ expires_at: at }: KeyView, { nowMs }: View): string {
  if (at === null) return 'never'
  return at > nowMs ? `in ${span(at - nowMs)}` : `${span(nowMs - at)} ago`
}

/** A key that may not ask any has none. */
function modelsOf({ scopes, models }: KeyView): string {
  if (scopes.every((scope) => scope === 'read')) return '-'
  return models === null ? 'all' : few(models.map(plain))
}
