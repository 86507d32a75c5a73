import type { TokenCreated, TokenInput, TokenView } from '../../api/admin/schemas.ts'
import { AppError } from '../../platform/errors.ts'
import { show, viewOf, type Act, type Client } from '../client.ts'
import { findOne } from '../find-one.ts'
import { counted, parseSpanS, span } from '../terminal/format.ts'
import { plain } from '../terminal/text-width.ts'
import { joinHint, renderTokens } from './list.ts'

const list: Act = async (client) => {
  const tokens = await client.api.call('listTokens')
  return show(client, tokens, () => [
    ...renderTokens(tokens, viewOf(client)),
    '',
    ...joinHint(client.cluster, viewOf(client)),
  ])
}

const create: Act = async (client, { own }) => {
  const created = await client.api.call('createToken', {}, tokenInput(own))
  return showOnce(client, created, 'It is shown this once.')
}

const rotate: Act = async (client) => {
  const created = await client.api.call('rotateToken')
  const file = client.cluster.folder === undefined ? '' : '\njoin.token in the data folder holds it too.'
  return showOnce(client, created, `The one before no longer works; nodes that have joined stay.${file}`)
}

const revoke: Act = async (client, { values }) => {
  const tokens = await client.api.call('listTokens')
  const { id } = findToken(values[0]!, tokens)
  const token = await client.api.call('revokeToken', { id })
  return show(client, token, () => [`Token ${plain(token.name)} is revoked; nodes that joined with it stay.`])
}

export const tokenActs = { list, create, rotate, revoke } satisfies Record<string, Act>

function tokenInput(own: ReadonlyMap<string, string>): TokenInput {
  const [name, expires, uses] = [own.get('name'), own.get('expires'), own.get('uses')]
  const expiresInS = expires === undefined ? undefined : parseSpanS(expires)
  if (expires !== undefined && !expiresInS) {
    throw new AppError('usage', `flotilla token create: --expires: expected 30m, 1h or 7d, got "${plain(expires)}".`)
  }
  if (uses !== undefined && !/^[1-9]\d{0,8}$/.test(uses)) {
    throw new AppError('usage', `flotilla token create: --uses: expected a whole number from 1, got "${plain(uses)}".`)
  }
  return {
    ...(name === undefined ? {} : { name }),
    ...(expiresInS === undefined ? {} : { expires_in_s: expiresInS }),
    ...(uses === undefined ? {} : { max_uses: Number(uses) }),
  } as TokenInput
}

/** The token alone goes to stdout, for use in a file or a pipe. */
function showOnce(client: Client, created: TokenCreated, more: string): number {
  const { name, id, expires_at: expires, max_uses: uses } = created
  const limits = [
    expires === null ? 'Does not expire' : `Expires in ${span(expires - client.api.nowMs())}`,
    uses === null ? 'for any number of nodes' : `for ${counted(uses, 'node')}`,
  ]
  if (!client.json) client.terminal.note(`Token ${plain(name)} (${id})\n${limits.join(', ')}.\n${more}`)
  return show(client, created, () => [created.token])
}

/** Names can be reused: the token that still works is meant. */
function findToken(wanted: string, tokens: readonly TokenView[]): TokenView {
  const active = tokens.filter(({ name, state }) => name === wanted && state === 'active')
  return active.length === 1 ? active[0]! : findOne('token', wanted, tokens)
}
