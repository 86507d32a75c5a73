import type { KeyCreated, KeyInput, KeyView } from '../../api/admin/schemas.ts'
import { keyScope } from '../../api/key-scope.ts'
import { AppError } from '../../platform/errors.ts'
import { show, viewOf, type Act, type Client, type Given } from '../client.ts'
import { findOne } from '../find-one.ts'
import { counted, few, parseSpanS, span } from '../terminal/format.ts'
import { plain } from '../terminal/text-width.ts'
import { renderKeys } from './list.ts'

const list: Act = async (client) => {
  const keys = await client.api.call('listKeys')
  return show(client, keys, () => renderKeys(keys, viewOf(client)))
}

const create: Act = async (client, given) => {
  const created = await client.api.call('createKey', {}, keyInput(given))
  if (!client.json) client.terminal.note(aboutKey(client, created))
  // The key alone goes to stdout, for use in a file or a pipe.
  return show(client, created, () => [created.key])
}

const revoke: Act = async (client, { values }) => {
  const keys = await client.api.call('listKeys')
  const { id } = findKey(values[0]!, keys)
  const key = await client.api.call('revokeKey', { id })
  return show(client, key, () => [`Key ${plain(key.name)} is revoked: gateways refuse it from now on.`])
}

const rotate: Act = async (client, { values, own }) => {
  const overlap = own.get('overlap') ?? '1d'
  const overlapS = overlap === '0' ? 0 : parseSpanS(overlap)
  if (overlapS === undefined) {
    const text = `--overlap: expected 30m, 1h, 1d or 0, got "${plain(overlap)}".`
    throw new AppError('usage', `flotilla keys rotate: ${text}`)
  }
  const { id, name } = findKey(values[0]!, await client.api.call('listKeys'))
  const created = await client.api.call('rotateKey', { id }, { overlap_s: overlapS })
  const old = overlapS === 0 ? 'no longer works' : `works for another ${span(overlapS * 1000)}`
  if (!client.json) client.terminal.note(`${aboutKey(client, created)}\nThe old key ${plain(name)} (${id}) ${old}.`)
  return show(client, created, () => [created.key])
}

const rotateAdmin: Act = async (client) => {
  const created = await client.api.call('rotateAdminKey')
  const { ended_sessions: ended } = created
  const file = client.cluster.folder === undefined ? '' : '\nadmin.key in the data folder holds it too.'
  if (!client.json)
    client.terminal.note(`The admin key before no longer works; ${counted(ended, 'session')} ended.${file}`)
  return show(client, created, () => [created.key])
}

export const keyActs = { list, create, rotate, 'rotate-admin': rotateAdmin, revoke } satisfies Record<string, Act>

function keyInput({ own, lists }: Given): KeyInput {
  const [name, scope, expires] = [own.get('name')!, own.get('scope') ?? 'inference', own.get('expires')]
  const expiresInS = expires === undefined ? undefined : parseSpanS(expires)
  if (expires !== undefined && !expiresInS)
    throw mistake(`--expires: expected 30m, 1h or 30d, got "${plain(expires)}".`)
  const scopes = keyScope.array().safeParse([scope])
  if (!scopes.success) throw mistake(`--scope: expected inference, read or admin, got "${plain(scope)}".`)
  const models = lists.get('models')?.flatMap((names) => names.split(',').map((each) => each.trim()))
  // An empty list would be read as no list, and make a key for every model.
  if (models?.some((each) => each === '')) throw mistake('--models: expected names of models, as in qwen,bge-m3.')
  return {
    name,
    scopes: scopes.data,
    ...(models === undefined ? {} : { models }),
    ...(expiresInS === undefined ? {} : { expires_in_s: expiresInS }),
  }
}

function mistake(text: string): AppError {
  return new AppError('usage', `flotilla keys create: ${text}`)
}

function aboutKey({ api }: Client, { name, id, scopes, models, expires_at: expires }: KeyCreated): string {
  const end = expires === null ? 'Does not expire' : `Expires in ${span(expires - api.nowMs())}`
  const use = scopes.includes('admin')
    ? 'everything, as an admin'
    : scopes.includes('read')
      ? 'looking at everything and changing nothing'
      : `inference with ${models ? few(models.map(plain)) : 'all models'}`
  return `Key ${plain(name)} (${id})\n${end}, for ${use}.\nIt is shown this once. Send it as Authorization: Bearer <key>.`
}

/** Names can be reused: the key that still works is meant. */
function findKey(wanted: string, keys: readonly KeyView[]): KeyView {
  const active = keys.filter(({ name, state }) => name === wanted && state === 'active')
  return active.length === 1 ? active[0]! : findOne('key', wanted, keys)
}
