import { useQuery } from '@tanstack/react-query'
import { Eraser, SendHorizontal, Square } from 'lucide-react'
import { useEffect, useRef, useState, type FormEvent, type KeyboardEvent, type ReactNode } from 'react'
import { useSearchParams } from 'wouter'
import { useModels } from '../../live/use-live.ts'
import { Button } from '../../parts/button.tsx'
import { Disclosure } from '../../parts/disclosure.tsx'
import { TextField } from '../../parts/field.tsx'
import field from '../../parts/field.module.css'
import { Empty, Failure } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { useSession } from '../../shell/session.tsx'
import { listModels } from './ask.ts'
import { ChatTurn } from './chat-turn.tsx'
import style from './playground-page.module.css'
import { useChat } from './use-chat.ts'
import { UseItElsewhere } from './use-it-elsewhere.tsx'

/** Ask any model, and see who answers and how fast. */
export function PlaygroundPage(): ReactNode {
  const [search, setSearch] = useSearchParams()
  const models = useAskable()
  const [question, setQuestion] = useState('')
  const [settings, setSettings] = useState(NO_SETTINGS)
  const chat = useChat()
  const end = useRef<HTMLDivElement>(null)
  const names = models.data ?? []
  const model = search.get('model') ?? names[0] ?? ''
  const lastText = chat.turns.at(-1)?.text
  useEffect(() => {
    if (chat.turns.length > 0) end.current?.scrollIntoView({ block: 'end' })
  }, [chat.turns.length, lastText])

  const canSend = model !== '' && question.trim() !== '' && !chat.isBusy
  const send = (): void => {
    if (!canSend) return
    const { system, temperature, maxTokens } = settings
    chat.send(question.trim(), { model, temperature: figure(temperature), maxTokens: figure(maxTokens) }, system)
    setQuestion('')
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    send()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }
  const clear = (
    <Button icon={Eraser} onClick={chat.clear} disabled={chat.turns.length === 0}>
      Start anew
    </Button>
  )
  return (
    <Page title="Playground" about="Any OpenAI client can do the same." actions={clear}>
      {models.error && <Failure error={models.error} onRetry={models.refetch} />}
      <div className={style['talk']} role="log" aria-label="Conversation" aria-live="polite">
        {chat.turns.length === 0 && (
          <Empty>{names.length === 0 ? 'There are no models yet.' : `Ask ${model} something.`}</Empty>
        )}
        {chat.turns.map((turn) => (
          <ChatTurn key={turn.id} turn={turn} />
        ))}
        <div ref={end} />
      </div>
      <form className={style['form']} onSubmit={submit}>
        <select
          aria-label="Model"
          className={field['input']}
          value={model}
          onChange={({ target }) => setSearch({ model: target.value }, { replace: true })}
        >
          {[...new Set(model === '' ? names : [...names, model])].map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <textarea
          aria-label="Message"
          className={field['input']}
          rows={2}
          value={question}
          placeholder={model === 'skipper' ? 'What is a slot?' : 'Message'}
          onChange={({ target }) => setQuestion(target.value)}
          onKeyDown={onKeyDown}
        />
        {chat.isBusy ? (
          <Button icon={Square} onClick={chat.stop}>
            Stop
          </Button>
        ) : (
          <Button tone="primary" type="submit" icon={SendHorizontal} disabled={!canSend}>
            Send
          </Button>
        )}
      </form>
      <Settings values={settings} onChange={setSettings} />
      {model !== '' && <UseItElsewhere model={model} question={question} />}
    </Page>
  )
}

const NO_SETTINGS = { system: '', temperature: '', maxTokens: '' }

interface SettingsProps {
  values: typeof NO_SETTINGS
  onChange: (values: typeof NO_SETTINGS) => void
}

function Settings({ values, onChange }: SettingsProps): ReactNode {
  const { system, temperature, maxTokens } = values
  return (
    <Disclosure title="Settings">
      <div className={style['settings']}>
        <TextField label="System message" value={system} onChange={(text) => onChange({ ...values, system: text })} />
        <TextField
          label="Temperature"
          type="number"
          step="0.1"
          min={0}
          value={temperature}
          onChange={(text) => onChange({ ...values, temperature: text })}
          hint="Empty: as the engine has it."
        />
        <TextField
          label="Most tokens"
          type="number"
          min={1}
          value={maxTokens}
          onChange={(text) => onChange({ ...values, maxTokens: text })}
          hint="Empty: no limit of ours."
        />
      </div>
    </Disclosure>
  )
}

/** The models, live for whoever is signed in; else those that the API names. */
function useAskable(): { data: readonly string[] | undefined; error: Error | null; refetch: () => void } {
  const { isSignedIn } = useSession()
  const live = useModels()
  const listed = useQuery({ queryKey: ['v1 models'], queryFn: listModels, enabled: !isSignedIn })
  if (!isSignedIn) return { data: listed.data, error: listed.error, refetch: () => void listed.refetch() }
  return { data: live.map(({ name }) => name), error: null, refetch: () => {} }
}

function figure(text: string): number | undefined {
  return text.trim() === '' || Number.isNaN(Number(text)) ? undefined : Number(text)
}
