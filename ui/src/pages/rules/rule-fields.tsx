import type { ReactNode } from 'react'
import { useNodes } from '../../live/use-live.ts'
import { Field } from '../../parts/field.tsx'
import fieldStyle from '../../parts/field.module.css'
import { KeyValueChips } from '../../parts/key-value-chips.tsx'
import { ReplicaInput } from '../../parts/replica-input.tsx'
import { Segmented } from '../../parts/segmented.tsx'
import { knownLabels } from './label-search.ts'
import type { RuleDraft, RuleField, RuleMistake } from './rule-draft.ts'
import style from './rule-form.module.css'
import { idleText, modeHints, policyTexts, type RuleMode } from './rule-mode.ts'
import { pairsOf, pairText, selectorOf } from './selector-pairs.ts'

const MODES: readonly { value: RuleMode; label: string }[] = [
  { value: 'pin', label: 'Pin to nodes' },
  { value: 'auto', label: 'Auto-scale' },
  { value: 'spread', label: 'Spread to all' },
]
const MIN_PRESETS = [1, 2, 3, 4].map((value) => ({ value, label: String(value) }))
const MAX_PRESETS = [{ value: 0, label: 'no limit' }, ...[2, 4, 8].map((value) => ({ value, label: String(value) }))]
const IDLE_PRESETS = [
  { value: 0, label: 'never' },
  ...[300, 900, 3600].map((value) => ({ value, label: idleText(value) })),
]

interface RuleFieldsProps {
  draft: RuleDraft
  edit: (some: Partial<RuleDraft>) => void
  mistake: RuleMistake | undefined
}

/** All of a rule but its model. */
export function RuleFields({ draft, edit, mistake }: RuleFieldsProps): ReactNode {
  const errorOf = (field: RuleField): string | undefined => (mistake?.field === field ? mistake.text : undefined)
  return (
    <>
      <div className={style['group']}>
        <span className={fieldStyle['label']} aria-hidden>
          Mode
        </span>
        <div>
          <Segmented label="Mode" value={draft.mode} onChange={(mode) => edit({ mode })} options={MODES} />
        </div>
        <p className={fieldStyle['hint']} aria-live="polite">
          {modeHints[draft.mode]}
        </p>
      </div>
      <SelectorField draft={draft} edit={edit} error={errorOf('selector')} />
      {draft.mode === 'auto' && (
        <>
          <ReplicaInput
            label="Min replicas"
            value={draft.min}
            onChange={(min) => edit({ min })}
            presets={MIN_PRESETS}
            error={errorOf('min')}
          />
          <ReplicaInput
            label="Max replicas"
            value={draft.max}
            onChange={(max) => edit({ max })}
            presets={MAX_PRESETS}
            hint="0 is no limit."
            error={errorOf('max')}
          />
          {draft.min === 0 && (
            <ReplicaInput
              label="Scale to zero after (seconds)"
              value={draft.scaleToZero}
              onChange={(scaleToZero) => edit({ scaleToZero })}
              presets={IDLE_PRESETS}
              hint="Without a request for so long, the last replica goes as well. 0 keeps it."
              error={errorOf('scaleToZero')}
            />
          )}
        </>
      )}
      <Field label="Routing" hint="Which replica gets a request.">
        {(ids) => (
          <select
            {...ids}
            className={fieldStyle['input']}
            value={draft.routePolicy}
            onChange={({ target }) => edit({ routePolicy: target.value as RuleDraft['routePolicy'] })}
          >
            {Object.entries(policyTexts).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        )}
      </Field>
    </>
  )
}

function SelectorField({
  draft: { pairs },
  edit,
  error,
}: Pick<RuleFieldsProps, 'draft' | 'edit'> & { error: string | undefined }): ReactNode {
  const nodes = useNodes()
  return (
    <div className={style['group']}>
      <span className={fieldStyle['label']} aria-hidden>
        Node selector
      </span>
      <KeyValueChips
        label="Node selector"
        pairs={pairs}
        // Shown as it will be shown when it is opened again.
        onAdd={(key, value) => edit({ pairs: { ...pairs, ...pairsOf(selectorOf({ [key]: value })) } })}
        onRemove={(key) => edit({ pairs: Object.fromEntries(Object.entries(pairs).filter(([one]) => one !== key)) })}
        known={knownLabels(nodes)}
        textOf={pairText}
      />
      <p className={error === undefined ? fieldStyle['hint'] : fieldStyle['error']}>
        {error ?? (
          <>
            Nodes must meet all of it; empty is any node. A value may be <code>a,b</code> for either, or <code>!a</code>{' '}
            for anything else; a key <code>!spot</code> without a value asks for nodes without that label.
          </>
        )}
      </p>
    </div>
  )
}
