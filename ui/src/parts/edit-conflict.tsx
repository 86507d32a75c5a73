import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import style from './edit-conflict.module.css'
import { Notice } from './notice.tsx'

interface EditConflictProps {
  /** What was changed by somebody else: `The rule for llama`. */
  what: string
  /** By the name of a field: what it was, what it is now, and what is typed here. */
  before: Readonly<Record<string, string>>
  theirs: Readonly<Record<string, string>>
  mine: Readonly<Record<string, string>>
  onUseTheirs: () => void
  onSaveMine: () => void
  canSave: boolean
}

/** Two people have edited the same thing. Nothing of either is lost: the one who saves later decides. */
export function EditConflict({
  what,
  before,
  theirs,
  mine,
  onUseTheirs,
  onSaveMine,
  canSave,
}: EditConflictProps): ReactNode {
  const fields = Object.keys(theirs).filter((field) => before[field] !== theirs[field] || theirs[field] !== mine[field])
  return (
    <Notice tone="warn">
      <p>
        <b>{what} was changed by somebody else while you edit it.</b> What you typed is still here.
      </p>
      {fields.length > 0 && (
        <div className={style['scroll']} role="region" aria-label="What differs" tabIndex={0}>
          <table className={style['table']}>
            <thead>
              <tr>
                <th scope="col">Field</th>
                <th scope="col" className={style['before']}>
                  When you began
                </th>
                <th scope="col">Theirs</th>
                <th scope="col">Yours</th>
              </tr>
            </thead>
            <tbody>
              {fields.map((field) => (
                <tr key={field}>
                  <th scope="row">{field}</th>
                  <td className={style['before']}>{before[field]}</td>
                  <td className={theirs[field] === before[field] ? '' : style['changed']}>{theirs[field]}</td>
                  <td className={mine[field] === before[field] ? '' : style['changed']}>{mine[field]}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <div className={style['actions']}>
        <Button onClick={onUseTheirs}>Use theirs</Button>
        <Button onClick={onSaveMine} disabled={!canSave}>
          Save mine over it
        </Button>
      </div>
    </Notice>
  )
}
