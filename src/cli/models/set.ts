import type { ModelInput, ModelSaved, ModelView } from '../../api/admin/model-schemas.ts'
import { show, viewOf, type Act, type Client, type Given } from '../client.ts'
import { findNamed } from '../find-one.ts'
import { plain } from '../terminal/text-width.ts'
import { unlessChanged } from '../unless-changed.ts'
import { wrap } from '../terminal/wrap.ts'
import { engineHint } from './engine-hint.ts'
import { mistake, NONE, readMemory, readOptions, readSource, toInput, type OptionValue } from './model-flags.ts'

const FLAGS = ['engine', 'source', 'context', 'parallel', 'option', 'memory', 'anti-affinity'] as const

/** Changes only the named fields of a model: the rest, and concurrent changes of another admin, stay. */
export const set: Act = async (client, given) => {
  const asked = readFlags(given)
  const { name } = findNamed('model', given.values[0]!, await client.api.call('listModels'))
  const saved = await unlessChanged(async () => {
    const before = await client.api.call('getModel', { name })
    return save(client, before, asked, given)
  })
  const hint = client.json ? [] : await engineHint(client, saved.engine)
  return show(client, saved, () => {
    const { width } = viewOf(client)
    const { is_changed: isChanged, text } = saved.effect
    const line = isChanged ? `${plain(name)} is changed. ${plain(text)}` : `${plain(name)} is as it was.`
    return [...wrap(line, width), ...hint]
  })
}

/** Missing fields stay as they are. */
interface Asked extends Partial<Omit<ModelInput, 'name' | 'options'>> {
  options: Record<string, OptionValue | null>
}

function readFlags({ own, lists }: Given): Asked {
  if (!FLAGS.some((flag) => own.has(flag))) {
    throw mistake('set', `what of it? Name one of ${FLAGS.map((flag) => `--${flag}`).join(', ')}`)
  }
  const [engine, source, memory, apart] = ['engine', 'source', 'memory', 'anti-affinity'].map((flag) => own.get(flag))
  return {
    options: readOptions({ own, lists }, 'set', true),
    ...(engine === undefined ? {} : { engine }),
    ...(source === undefined ? {} : { source: source === NONE ? null : readSource(source, 'set') }),
    ...(memory === undefined ? {} : { memory: memory === NONE ? null : readMemory(memory, 'set') }),
    ...(apart === undefined ? {} : { anti_affinity: apart === NONE ? null : apart }),
  }
}

async function save({ api }: Client, before: ModelView, asked: Asked, { own }: Given): Promise<ModelSaved> {
  const { name, updated_at: seen } = before
  const { engine, source, memory, anti_affinity } = { ...before, ...asked }
  const options = Object.fromEntries(
    Object.entries({ ...before.options, ...asked.options }).filter(([, value]) => value !== null),
  )
  const { name: _, ...settings } = toInput({ name, engine, source, options, memory, anti_affinity }, 'set')
  const later: Record<string, string> = own.has('later') ? { later: 'true' } : {}
  return api.call('putModel', { name, if_updated_at: String(seen), ...later }, settings)
}
