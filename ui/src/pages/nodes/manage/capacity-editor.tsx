import { RotateCcw } from 'lucide-react'
import type { ReactNode } from 'react'
import type { NodeView } from '../../../../../src/api/admin/schemas.ts'
import { useChange } from '../../../api/use-change.ts'
import { countText } from '../../../format/figures.ts'
import { useReplicasOn } from '../../../live/use-live.ts'
import { Button } from '../../../parts/button.tsx'
import { useConfirm } from '../../../parts/confirm.tsx'
import { Pill } from '../../../parts/pill.tsx'
import { tell } from '../../../parts/toasts.tsx'
import { mostOfOneModel } from '../replica-facts.ts'
import style from './inline-editor.module.css'
import { InlineEditor } from './inline-editor.tsx'
import { readSlots } from './read-slots.ts'

/** The slots of a node: what its worker declares, or what an admin sets over it. */
export function CapacityEditor({ node }: { node: NodeView }): ReactNode {
  const { id, name, max_replicas_per_model: slots, max_replicas_declared: declared } = node
  const isOverridden = node.max_replicas_per_model_manually_set
  const confirm = useConfirm()
  const loaded = mostOfOneModel(useReplicasOn(id))
  const set = useChange('setSlots', {
    done: ({ max_replicas_per_model: value }) => `${name} has ${countText(value, 'slot')} for each model.`,
  })
  const reset = useChange('resetSlots', {
    done: `${name} goes by its worker again: ${countText(declared, 'slot')} for each model, or what it says when it registers next.`,
  })

  const save = async (typed: string): Promise<boolean> => {
    const read = readSlots(typed, slots)
    if (read.is === 'same') return true
    if (read.is === 'wrong') {
      tell.failed('The number of slots must be a whole number from 1 on.')
      return false
    }
    const { value } = read
    if (value < loaded) {
      const text = `${name} runs ${loaded} replicas of one model now. Nothing is evicted: those above ${value} stay until they end, and no new ones are placed there.`
      if (!(await confirm({ title: `Fewer slots than replicas on ${name}?`, text, confirm: `Set ${value}` })))
        return false
    }
    return set.mutateAsync({ params: { id }, body: { value } }).then(
      () => true,
      () => false,
    )
  }
  return (
    <>
      <InlineEditor
        label="slots"
        start={String(slots)}
        input={{ type: 'number', min: 1, step: 1 }}
        isBusy={set.isPending}
        onSave={save}
        actions={
          isOverridden && (
            <Button
              small
              icon={RotateCcw}
              busy={reset.isPending}
              onClick={() => reset.mutate({ params: { id } })}
              aria-label="Reset slots"
            >
              Reset
            </Button>
          )
        }
      >
        <span>
          <span className={style['value']}>{slots}</span> {slots === 1 ? 'replica' : 'replicas'} per model
        </span>
        {isOverridden && <Pill tone="accent">override</Pill>}
      </InlineEditor>
      <p className={style['hint']}>
        {isOverridden ? `Set by an admin; the worker says ${declared}.` : 'As the worker declares it.'}
      </p>
    </>
  )
}
