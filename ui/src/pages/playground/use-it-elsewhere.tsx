import type { ReactNode } from 'react'
import { CopyBlock } from '../../parts/copy.tsx'
import { Disclosure } from '../../parts/disclosure.tsx'

/** The same from a program of one's own. */
export function UseItElsewhere({ model, question }: { model: string; question: string }): ReactNode {
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: question || 'Hello' }] })
  const key = isLocal(location.hostname) ? '' : ` -H 'authorization: Bearer <key>'`
  const curl = `curl -N ${location.origin}/v1/chat/completions${key} -H 'content-type: application/json' -d '${body.replaceAll("'", String.raw`'\''`)}'`
  return (
    <Disclosure title="Use it from your programs">
      <p>
        Any OpenAI client works: set its base URL to <code>{location.origin}/v1</code>, or paste this:
      </p>
      <CopyBlock text={curl} label="Command" />
    </Disclosure>
  )
}

function isLocal(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host.startsWith('127.')
}
