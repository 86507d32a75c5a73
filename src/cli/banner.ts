import { shellWord } from './terminal/format.ts'

export interface Banner {
  url: string
  /** Of its certificate, when it has one. */
  fingerprint?: string | undefined
  /** That certificate, for clients that would not trust it without. */
  certificate?: string | undefined
  /** Whether a program on this machine needs no key. */
  localInference?: boolean
  /** Where a browser goes, and what to know about it. */
  dashboard: string
  folder: string
  /** Models that answer now. */
  models: string[]
  /** Those that should and do not. */
  absent?: readonly { model: string; why: string }[]
  version: string
  colour: boolean
  /** What to do next, besides asking. */
  hint?: string
}

/** What a person needs to know once everything serves. */
export function banner(shown: Banner): string {
  const { url, fingerprint, certificate, dashboard, folder, models, absent = [], version, colour, hint } = shown
  const { localInference = true } = shown
  const keyFile = `${folder}/admin.key`
  const bold = (text: string): string => (colour ? `\u001B[1m${text}\u001B[22m` : text)
  const dim = (text: string): string => (colour ? `\u001B[2m${text}\u001B[22m` : text)
  const row = (name: string, value: string): string => `  ${dim(name.padEnd(11))}${value}`
  const [model] = models
  const lines = [
    '',
    bold(`Flotilla ${version} is serving`),
    '',
    row('Endpoint', `${url}/v1`),
    ...(fingerprint === undefined ? [] : [row('TLS', fingerprint)]),
    row('Dashboard', dashboard),
    row('Models', models.length > 0 ? models.join(', ') : 'none ready yet (GET /v1/models shows them as they come)'),
    row('Data', folder),
    row('Admin key', keyFile),
    ...(localInference
      ? []
      : [row('Inference', 'needs a key, from this machine too (--local-inference on: it does not)')]),
    '',
    ...absent.map(({ model, why }) => `${model} is not there yet, and is tried again by itself. ${why}\n`),
    ...(model === undefined
      ? []
      : ['Try it:', '', curlLine(url, model, { certificate, keyFile: localInference ? undefined : keyFile }), '']),
    ...(hint === undefined ? [] : [hint]),
    dim('Ctrl-C stops everything.'),
    '',
    '',
  ]
  return lines.join('\n')
}

/** One line that works when pasted into any shell, whatever the model is called. */
export function curlLine(
  url: string,
  model: string,
  { certificate, keyFile }: { certificate?: string | undefined; keyFile?: string | undefined } = {},
): string {
  // The model that comes along knows what this is.
  const content = model === 'skipper' ? 'What is a slot?' : 'Hello'
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content }] })
  const trust = certificate === undefined ? '' : ` --cacert ${shellWord(certificate)}`
  const key = keyFile === undefined ? '' : ` -H "authorization: Bearer $(cat ${shellWord(keyFile)})"`
  return `curl -N${trust}${key} ${url}/v1/chat/completions -H 'content-type: application/json' -d '${body.replaceAll("'", String.raw`'\''`)}'`
}
