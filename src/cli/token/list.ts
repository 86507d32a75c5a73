import { hostname } from 'node:os'
import { join } from 'node:path'
import type { TokenView } from '../../api/admin/schemas.ts'
import { isLoopback } from '../../platform/address.ts'
import type { View } from '../client.ts'
import type { Cluster } from '../cluster.ts'
import { shellWord, span } from '../terminal/format.ts'
import type { Look } from '../terminal/style.ts'
import { table } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'

const stateLooks: Record<TokenView['state'], Look> = {
  active: 'green',
  expired: 'red',
  'used up': 'yellow',
  revoked: 'red',
}

export function renderTokens(tokens: readonly TokenView[], view: View): string[] {
  if (tokens.length === 0) return ['There are no join tokens.']
  return table(
    [
      { title: 'NAME', shrink: { to: 8, turn: 2 } },
      { title: 'STATE' },
      { title: 'USES', align: 'right' },
      { title: 'EXPIRES' },
      { title: 'LAST USED' },
      { title: 'ID', shrink: { to: 9, turn: 1 } },
    ],
    tokens.map((token) => [
      plain(token.name),
      { text: token.state, look: stateLooks[token.state] },
      token.max_uses === null ? String(token.uses) : `${token.uses}/${token.max_uses}`,
      expiry(token, view),
      token.last_used_at === null ? 'never' : `${span(view.nowMs - token.last_used_at)} ago`,
      token.id,
    ]),
    view,
  )
}

function expiry({ expires_at: at }: TokenView, { nowMs }: View): string {
  if (at === null) return 'never'
  return at > nowMs ? `in ${span(at - nowMs)}` : `${span(nowMs - at)} ago`
}

/** How another machine joins: commands to paste, with the token in a file and not on the screen. */
export function joinHint(
  { url, folder, isLoopbackOnly, fingerprint }: Cluster,
  { sameCluster, paint }: View,
): string[] {
  const given = new URL(url)
  // Others cannot reach this machine by its loopback address; its name is the best guess.
  const host = isLoopback(given.hostname) ? hostname() : given.hostname
  const from = `${given.protocol}//${host}${given.port === '' ? '' : `:${given.port}`}`
  const copy =
    folder === undefined
      ? `flotilla token create${sameCluster} | ssh <machine> 'umask 077; cat > join.token'`
      : `scp ${shellWord(join(folder, 'join.token'))} <machine>:join.token`
  const known = fingerprint === undefined ? '' : ` --fingerprint ${fingerprint}`
  return [
    paint('bold', 'To join a machine, copy a token to it and start a worker there:'),
    `  ${copy}`,
    `  flotilla worker --join ${from}${known} --token-file join.token`,
    ...(isLoopbackOnly ? ['', ...loopbackNote(given.port)] : []),
  ]
}

function loopbackNote(port: string): string[] {
  return [
    'Other machines cannot reach this frontend yet. Start it with',
    `  --listen 0.0.0.0:${port === '' ? '80' : port}`,
  ]
}
