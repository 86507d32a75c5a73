import { shellWord } from './terminal/format.ts'

export interface Banner {
  url: string
  /** The fingerprint of its certificate, if it has one. */
  fingerprint?: string | undefined
  /** The certificate's file, for clients that would not trust it otherwise. */
  certificate?: string | undefined
  /** Whether a program on this machine needs no key. */
  localInference?: boolean
  /** The dashboard's address, and a remark. */
  dashboard: string
  folder: string
  /** Models that answer now. */
  models: string[]
  /** Models that should answer and do not. */
  absent?: readonly { model: string; why: string }[]
  version: string
  colour: boolean
  /** The next step, besides asking a model. */
  hint?: string
}

/** What a person needs once all parts serve. */
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

/** A line that works when pasted into any shell, whatever the model's name. */
export function curlLine(
  url: string,
  model: string,
  { certificate, keyFile }: { certificate?: string | undefined; keyFile?: string | undefined } = {},
): string {
  // The bundled model knows the answer.
  const content = model === 'skipper' ? 'What is a slot?' : 'Hello'
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content }] })
  const trust = certificate === undefined ? '' : ` --cacert ${shellWord(certificate)}`
  const key = keyFile === undefined ? '' : ` -H "authorization: Bearer $(cat ${shellWord(keyFile)})"`
  return `curl -N${trust}${key} ${url}/v1/chat/completions -H 'content-type: application/json' -d '${body.replaceAll("'", String.raw`'\''`)}'`
}
