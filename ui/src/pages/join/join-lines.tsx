import { useState, type ReactNode } from 'react'
import type { TokenCreated } from '../../../../src/api/admin/schemas.ts'
import { CopyBlock } from '../../parts/copy.tsx'
import { Segmented } from '../../parts/segmented.tsx'
import { joinCommands } from './join-command.ts'
import style from './join-dialog.module.css'

type Way = 'direct' | 'file'

const HINTS: Record<Way, string> = {
  direct: 'The token is given in the environment, where other users of that machine cannot see it.',
  file: 'For a machine that starts its worker again by itself: the token lies in a file that only its owner can read.',
}

/** The lines to paste. */
export function JoinLines({ address, created }: { address: string; created: TokenCreated }): ReactNode {
  const [way, setWay] = useState<Way>('direct')
  const { direct, withFile } = joinCommands(address, created.token, created.fingerprint)
  return (
    <div className={style['command']}>
      <Segmented
        label="Where the token is kept"
        value={way}
        onChange={setWay}
        options={[
          { value: 'direct', label: 'One command' },
          { value: 'file', label: 'Token in a file' },
        ]}
      />
      <CopyBlock label="Command" text={way === 'direct' ? direct : withFile} />
      <p className={style['hint']}>
        {HINTS[way]} Add <code>--node-name</code>, <code>--max-replicas-per-model</code> or <code>--node-labels</code>{' '}
        as you like.
      </p>
    </div>
  )
}
