import { useState, type FormEvent, type ReactNode } from 'react'
import { useLocation } from 'wouter'
import { useChange } from '../../api/use-change.ts'
import { useDraft } from '../../edit/use-draft.ts'
import { linkTo } from '../../links.ts'
import { useModels } from '../../live/use-live.ts'
import { Button, ButtonLink } from '../../parts/button.tsx'
import { EditConflict } from '../../parts/edit-conflict.tsx'
import { Failure, Notice } from '../../parts/notice.tsx'
import { Panel } from '../../parts/page.tsx'
import { LookIntoFile } from './look-into-file.tsx'
import { blankModel, bodyOfModel, draftOfModel, mistakesOf, modelWords, type ModelField } from './model-draft.ts'
import { ModelFields } from './model-fields.tsx'
import style from './model-form.module.css'
import { ModelPreview } from './model-preview.tsx'

/** Without a name it is a new one. */
export function ModelForm({ modelName, firstName }: { modelName: string | undefined; firstName: string }): ReactNode {
  const models = useModels()
  const [, navigate] = useLocation()
  const stored = models.find(({ name }) => name === modelName)
  const now = stored && { draft: draftOfModel(stored), updatedAt: stored.updated_at }
  const editing = useDraft(now, { ...blankModel, name: firstName })
  const { draft, before, edit, state, ifUpdatedAt } = editing
  const [left, setLeft] = useState<ReadonlySet<ModelField>>(new Set())
  const isNew = before === undefined
  const name = draft.name.trim()
  const save = useChange('putModel', {
    done: ({ effect }) => `${name} was saved. ${effect.text}`,
    onDone: () => navigate(linkTo.model(name)),
    isQuiet: () => true,
  })
  const mistakes = mistakesOf(draft)
  const twin = isNew && models.some((model) => model.name === name)
  if (twin) mistakes.name = 'There is a model of this name already.'
  const [first] = Object.entries(mistakes)
  const isConflict = state === 'changed' && !isNew && !save.isPending && !save.isSuccess
  const canSave = first === undefined && !save.isPending
  const send = (updatedAt: number, later?: 'true'): void => {
    save.mutate({ params: { name }, query: { if_updated_at: updatedAt, later }, body: bodyOfModel(draft) })
  }
  const cannotRun = Array.isArray(save.error?.details['mistakes'])
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault()
    if (canSave && !isConflict) send(ifUpdatedAt)
  }
  // Nobody is told that a field is empty before having been there.
  const shown = Object.fromEntries(
    Object.entries(mistakes).filter(([field]) => left.has(field as ModelField) || isTyped(draft[field as ModelField])),
  )
  return (
    <form
      onSubmit={onSubmit}
      className={style['form']}
      aria-label={isNew ? 'Add a model' : 'Edit the model'}
      noValidate
    >
      <div className={style['columns']}>
        <Panel title="Settings">
          <ModelFields
            draft={draft}
            edit={edit}
            mistakes={shown}
            onLeave={(field) => setLeft(new Set([...left, field]))}
            isNameFixed={!isNew}
          />
        </Panel>
        <div className={style['side']}>
          <ModelPreview draft={draft} isValid={first === undefined} />
          <LookIntoFile draft={draft} edit={edit} mistake={mistakes.source} />
        </div>
      </div>
      {isConflict && now && (
        <EditConflict
          what={`The model ${modelName}`}
          before={modelWords(before.draft)}
          theirs={modelWords(now.draft)}
          mine={modelWords(draft)}
          onUseTheirs={editing.takeTheirs}
          onSaveMine={() => send(now.updatedAt)}
          canSave={canSave}
        />
      )}
      {state === 'gone' && !save.isPending && (
        <Notice tone="warn">Somebody removed this model while you edit it. Saving makes it again.</Notice>
      )}
      {save.error && !isConflict && <Failure error={save.error} />}
      <footer className={style['foot']}>
        <Button type="submit" tone="primary" busy={save.isPending} disabled={!canSave || isConflict}>
          {isNew ? 'Add the model' : 'Save the model'}
        </Button>
        {cannotRun && (
          <Button onClick={() => send(ifUpdatedAt, 'true')} disabled={!canSave || isConflict}>
            Save it for later
          </Button>
        )}
        <ButtonLink to={isNew ? '/models' : linkTo.model(name)}>Cancel</ButtonLink>
        {twin && <ButtonLink to={linkTo.editModel(name)}>Edit {name}</ButtonLink>}
        <p className={style['cannot']} role="status">
          {isConflict
            ? 'Choose between theirs and yours above.'
            : first && `${LABELS[first[0] as ModelField]}: ${first[1]}`}
        </p>
      </footer>
    </form>
  )
}

const LABELS: Record<ModelField, string> = {
  name: 'Name',
  engine: 'Engine',
  source: 'Source',
  options: 'Options',
  vram: 'VRAM',
  ram: 'RAM',
  antiAffinity: 'Kept apart by',
}

function isTyped(value: string | Readonly<Record<string, string>>): boolean {
  return typeof value !== 'string' || value.trim() !== ''
}
