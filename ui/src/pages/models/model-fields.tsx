import type { ReactNode } from 'react'
import { useAnswer } from '../../api/use-answer.ts'
import { useModels, useNodes } from '../../live/use-live.ts'
import { TextField } from '../../parts/field.tsx'
import fieldStyle from '../../parts/field.module.css'
import { KeyValueChips } from '../../parts/key-value-chips.tsx'
import { NameCombobox } from '../../parts/name-combobox.tsx'
import type { ModelDraft, ModelField } from './model-draft.ts'
import style from './model-form.module.css'

/** What most engines know; any other may be typed. */
const KNOWN_OPTIONS = { context: ['4096', '8192', '32768'], parallel: ['1', '2', '4', '8'] }

interface ModelFieldsProps {
  draft: ModelDraft
  edit: (some: Partial<ModelDraft>) => void
  mistakes: Partial<Record<ModelField, string>>
  onLeave: (field: ModelField) => void
  isNameFixed: boolean
}

export function ModelFields({ draft, edit, mistakes, onLeave, isNameFixed }: ModelFieldsProps): ReactNode {
  return (
    <div className={style['fields']}>
      <TextField
        label="Name"
        value={draft.name}
        onChange={(name) => edit({ name })}
        onBlur={() => onLeave('name')}
        error={mistakes.name}
        hint={isNameFixed ? 'A model keeps its name.' : 'What clients ask for.'}
        readOnly={isNameFixed}
        required
      />
      <EngineField draft={draft} edit={edit} error={mistakes.engine} />
      <TextField
        label="Source"
        value={draft.source}
        onChange={(source) => edit({ source })}
        onBlur={() => onLeave('source')}
        error={mistakes.source}
        placeholder="hf:org/repo/file.gguf"
        hint={
          <>
            <code>hf:org/repo/file</code>, <code>https://…</code>, <code>file:/path</code> on the nodes,{' '}
            <code>frontend:path</code>, <code>bundled:path</code> or <code>ollama:name</code>. Some engines need none.
          </>
        }
      />
      <div className={style['group']}>
        <span className={fieldStyle['label']} aria-hidden>
          Options of the engine
        </span>
        <KeyValueChips
          label="Options of the engine"
          pairs={draft.options}
          onAdd={(key, value) => edit({ options: { ...draft.options, [key]: value } })}
          onRemove={(key) => edit({ options: without(draft.options, key) })}
          known={KNOWN_OPTIONS}
        />
        <p className={mistakes.options === undefined ? fieldStyle['hint'] : fieldStyle['error']}>
          {mistakes.options ?? (
            <>
              As its flags are named. Numbers and <code>true</code>/<code>false</code> are kept as such;{' '}
              <code>"8192"</code> in quotes is text.
            </>
          )}
        </p>
      </div>
      <div className={style['pair']}>
        <TextField
          label="VRAM per replica"
          value={draft.vram}
          onChange={(vram) => edit({ vram })}
          error={mistakes.vram}
          placeholder="12GiB"
          hint="Empty: found out by itself."
        />
        <TextField
          label="RAM per replica"
          value={draft.ram}
          onChange={(ram) => edit({ ram })}
          error={mistakes.ram}
          placeholder="2GiB"
          hint="Empty: found out by itself."
        />
      </div>
      <TextField
        label="Kept apart by (anti-affinity)"
        value={draft.antiAffinity}
        onChange={(antiAffinity) => edit({ antiAffinity })}
        error={mistakes.antiAffinity}
        hint="Models that share this name are never put on one node."
      />
    </div>
  )
}

function EngineField({
  draft,
  edit,
  error,
}: Pick<ModelFieldsProps, 'draft' | 'edit'> & { error: string | undefined }): ReactNode {
  // Engines are mostly the same everywhere: one node is asked, and what models use is known as well.
  const node = useNodes().find(({ status, node_type: type }) => status === 'healthy' && type === 'backend')
  const { data = [] } = useAnswer('listBackends', { params: { id: node?.id ?? '' } }, { enabled: node !== undefined })
  const models = useModels()
  const names = [...new Set([...data.map(({ name }) => name), ...models.map(({ engine }) => engine)])].toSorted()
  const found = data.find(({ name }) => name === draft.engine.trim())
  const where = found && node && `${HOW[found.state]} on ${node.name}.`
  return (
    <NameCombobox
      label="Engine"
      value={draft.engine}
      onChange={(engine) => edit({ engine })}
      names={names}
      nothing="No engine of that name is known here; a node may have it all the same."
      hint={where ?? 'The program that runs it.'}
      error={error}
    />
  )
}

const HOW: Readonly<Record<string, string>> = {
  available: 'Available',
  installable: 'Installed by itself when it is needed',
  missing: 'Not there',
  installing: 'Being installed',
  broken: 'Does not run',
}

function without(pairs: Readonly<Record<string, string>>, key: string): Record<string, string> {
  return Object.fromEntries(Object.entries(pairs).filter(([one]) => one !== key))
}
