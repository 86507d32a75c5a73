import { FileSearch } from 'lucide-react'
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Inspected } from '../../../../src/api/admin/model-schemas.ts'
import { defaultContext } from '../../../../src/core/memory/default-context.ts'
import { memorySettings } from '../../../../src/core/memory/settings.ts'
import { call, type ApiError } from '../../api/call.ts'
import { bytesText } from '../../format/bytes.ts'
import { useNodes } from '../../live/use-live.ts'
import { Button } from '../../parts/button.tsx'
import { Failure } from '../../parts/notice.tsx'
import { Panel } from '../../parts/page.tsx'
import { HeaderFacts } from './model-facts.tsx'
import { bodyOfModel, type ModelDraft } from './model-draft.ts'
import style from './model-form.module.css'
import { estimatedBytes } from './model-memory.ts'
import { optionsOf } from './option-text.ts'

interface LookIntoFileProps {
  draft: ModelDraft
  edit: (some: Partial<ModelDraft>) => void
  /** What is wrong with the source. */
  mistake: string | undefined
}

/** What the files of the source say, before anything is saved. */
export function LookIntoFile({ draft, edit, mistake }: LookIntoFileProps): ReactNode {
  const { source, engine, options } = bodyOfModel(draft)
  // It changes nothing, and what it says stands here: nothing is told elsewhere.
  const look = useMutation<Inspected, ApiError, string>({
    mutationFn: (of) => call('inspectModel', { body: { source: of, options, ...(engine === '' ? {} : { engine }) } }),
  })
  const canLook = typeof source === 'string' && mistake === undefined
  const isOfThis = look.variables === source
  return (
    <Panel
      title="What its files say"
      actions={
        <Button
          small
          icon={FileSearch}
          busy={look.isPending}
          disabled={!canLook}
          onClick={() => canLook && look.mutate(source)}
        >
          Look into the file
        </Button>
      }
    >
      <div aria-live="polite" className={style['part']}>
        {!isOfThis || (!look.data && !look.error) ? (
          <p className={style['muted']}>
            {canLook
              ? 'Reads only the header, from where nodes would get it.'
              : 'Give a source, and its header can be read before anything is saved.'}
          </p>
        ) : look.error ? (
          <Failure error={look.error} />
        ) : (
          look.data && <Said said={look.data} draft={draft} edit={edit} />
        )}
      </div>
    </Panel>
  )
}

function Said({
  said: { header, payload_bytes: payloadBytes },
  draft,
  edit,
}: { said: Inspected } & Pick<LookIntoFileProps, 'draft' | 'edit'>): ReactNode {
  const hasGpu = useNodes().some(({ devices }) => devices.length > 0)
  if (!header && payloadBytes === null) return <p>The files are of no kind that says so.</p>
  const options = optionsOf(draft.options)
  const { context, contextTotal } = memorySettings(options)
  const usual = header && context === null && contextTotal === null ? defaultContext(header.context) : undefined
  return (
    <>
      <HeaderFacts header={header} payloadBytes={payloadBytes} />
      {header && (
        <p>
          One replica takes about <b>{bytesText(estimatedBytes(header, options, hasGpu))}</b> of memory
          {hasGpu ? ' on a GPU and beside it' : ''}, with these options.
        </p>
      )}
      {usual !== undefined && usual < header!.context && (
        <div>
          <p>
            Nobody has said how long the context is: {header!.context.toLocaleString('en')} tokens are all that it was
            trained for, and their cache is large.
          </p>
          <Button small onClick={() => edit({ options: { ...draft.options, context: String(usual) } })}>
            Set the context to {usual}
          </Button>
        </div>
      )}
    </>
  )
}
