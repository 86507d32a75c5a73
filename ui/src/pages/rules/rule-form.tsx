import { type FormEvent, type ReactNode } from 'react'
import { useLocation } from 'wouter'
import { useChange } from '../../api/use-change.ts'
import { useDraft } from '../../edit/use-draft.ts'
import { linkTo } from '../../links.ts'
import { useModels, useRules } from '../../live/use-live.ts'
import { Button } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { EditConflict } from '../../parts/edit-conflict.tsx'
import { Failure, Notice } from '../../parts/notice.tsx'
import { NameCombobox } from '../../parts/name-combobox.tsx'
import { Panel } from '../../parts/page.tsx'
import { isMeant } from './is-meant.ts'
import { blankDraft, bodyOf, draftOf, draftWords, mistakeOf } from './rule-draft.ts'
import { RuleFields } from './rule-fields.tsx'
import style from './rule-form.module.css'
import { RulePreview } from './rule-preview.tsx'

/** For the rule of this model, or a new one: for it, or for any when the name is empty. */
export function RuleForm({ modelName, onClose }: { modelName: string; onClose: () => void }): ReactNode {
  const rules = useRules()
  const models = useModels()
  const [, navigate] = useLocation()
  const stored = rules.find(({ model_name: name }) => name === modelName)
  const editing = useDraft(stored && { draft: draftOf(stored), updatedAt: stored.updated_at }, blankDraft(modelName))
  const { draft, before, edit, state, ifUpdatedAt } = editing
  const isNew = before === undefined
  const save = useChange('saveRule', {
    done: ({ model_name: name }) => `The rule for ${name} was saved.`,
    onDone: onClose,
    isQuiet: () => true,
  })
  const typed = draft.modelName.trim()
  const other = isNew ? rules.find(({ model_name: name }) => name === typed) : undefined
  const mistake = mistakeOf(draft)
  const canSave = mistake === undefined && !save.isPending
  const confirm = useConfirm()
  const send = async (updatedAt: number): Promise<void> => {
    const body = bodyOf(draft)
    if (models.some(({ name }) => name === typed) && !(await isMeant(body, confirm))) return
    save.mutate({ query: { if_updated_at: updatedAt }, body })
  }
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault()
    if (canSave && !other && state !== 'changed') void send(ifUpdatedAt)
  }
  const isConflict = state === 'changed' && !isNew && !save.isPending && !save.isSuccess
  const cannot = other ? `There is a rule for ${typed} already.` : mistake?.text
  return (
    <Panel title={isNew ? 'Add a rule' : `Rule for ${before.draft.modelName}`}>
      <form
        onSubmit={onSubmit}
        className={style['form']}
        aria-label={isNew ? 'Add a rule' : 'Edit the rule'}
        noValidate
      >
        {stored?.source === 'config' && (
          <Notice tone="warn">
            {stored.warning ?? 'The next start of a frontend overwrites what is changed here.'}
          </Notice>
        )}
        <div className={style['columns']}>
          <div className={style['fields']}>
            <NameCombobox
              label="Model"
              value={draft.modelName}
              onChange={(value) => edit({ modelName: value })}
              names={models.map(({ name }) => name)}
              nothing="No model of that name yet: the rule waits for it."
              hint={isNew ? 'A model that does not exist yet may be named.' : 'A rule stays with its model.'}
              readOnly={!isNew}
            />
            <RuleFields draft={draft} edit={edit} mistake={mistake} />
          </div>
          <RulePreview draft={draft} mistake={mistake} isModelKnown={models.some(({ name }) => name === typed)} />
        </div>
        {isConflict && stored && (
          <EditConflict
            what={`The rule for ${modelName}`}
            before={draftWords(before.draft)}
            theirs={draftWords(draftOf(stored))}
            mine={draftWords(draft)}
            onUseTheirs={editing.takeTheirs}
            onSaveMine={() => void send(stored.updated_at)}
            canSave={canSave}
          />
        )}
        {state === 'gone' && !save.isPending && (
          <Notice tone="warn">Somebody removed this rule while you edit it. Saving makes it again.</Notice>
        )}
        {save.error && !isConflict && <Failure error={save.error} />}
        <footer className={style['foot']}>
          {other ? (
            <Button tone="primary" onClick={() => navigate(linkTo.rule(typed))}>
              Edit the rule for {typed}
            </Button>
          ) : (
            <Button type="submit" tone="primary" busy={save.isPending} disabled={!canSave || isConflict}>
              Save the rule
            </Button>
          )}
          <Button onClick={onClose}>Cancel</Button>
          <p className={style['cannot']} role="status">
            {isConflict ? 'Choose between theirs and yours above.' : cannot}
          </p>
        </footer>
      </form>
    </Panel>
  )
}
