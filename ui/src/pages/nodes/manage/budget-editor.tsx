import { RotateCcw } from 'lucide-react'
import type { ReactNode } from 'react'
import type { NodeView } from '../../../../../src/api/admin/schemas.ts'
import { useChange } from '../../../api/use-change.ts'
import { bytesText } from '../../../format/bytes.ts'
import { Button } from '../../../parts/button.tsx'
import { Pill } from '../../../parts/pill.tsx'
import style from './inline-editor.module.css'
import { InlineEditor } from './inline-editor.tsx'

/** How much of a node's VRAM replicas may hold. */
export function BudgetEditor({ node }: { node: NodeView }): ReactNode {
  const { id, name, vram_budget: budget, vram_budget_bytes: bytes, total_vram: total } = node
  const isOverridden = node.vram_budget_manually_set
  // It is about what was typed, so it is said there and not in a corner.
  const set = useChange('setBudget', {
    done: ({ vram_budget: value }) => `Replicas on ${name} may use ${value} of its VRAM.`,
    isQuiet: () => true,
  })
  const clear = useChange('resetBudget', {
    done: `${name} goes by its worker again: ${node.vram_budget_declared ?? 'no budget'}.`,
  })
  const save = async (typed: string): Promise<boolean> => {
    const value = typed.trim()
    if (value === (budget ?? '')) return true
    return set.mutateAsync({ params: { id }, body: { value } }).then(
      () => true,
      () => false,
    )
  }
  return (
    <>
      <InlineEditor
        label="VRAM budget"
        start={budget ?? ''}
        input={{ type: 'text', placeholder: '80% or 12GiB', spellCheck: false }}
        isBusy={set.isPending}
        error={set.error?.message}
        onSave={save}
        onCancel={set.reset}
        actions={
          isOverridden && (
            <Button
              small
              icon={RotateCcw}
              busy={clear.isPending}
              onClick={() => clear.mutate({ params: { id } })}
              aria-label="Clear VRAM budget"
            >
              Clear
            </Button>
          )
        }
      >
        <span className={style['value']}>{budget ?? 'none'}</span>
        {bytes !== null && total > 0 && (
          <span className="figures">
            {bytesText(bytes)} of {bytesText(total)}
          </span>
        )}
        {isOverridden && <Pill tone="accent">override</Pill>}
      </InlineEditor>
      <p className={style['hint']}>{hint(node)}</p>
    </>
  )
}

function hint(node: NodeView): string {
  if (node.total_vram === 0) return 'No GPU was found on this machine, so a budget limits nothing.'
  if (node.vram_budget_manually_set) return `Set by an admin; the worker says ${node.vram_budget_declared ?? 'none'}.`
  return node.vram_budget === null ? 'Replicas may use all of the VRAM.' : 'As the worker declares it.'
}
