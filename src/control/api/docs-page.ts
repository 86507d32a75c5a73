import { hash } from 'node:crypto'
import type { HttpRequest, HttpResponse } from '../../http/exchange.ts'
import { version } from '../../platform/version.ts'
import { openapiDocument } from './openapi.ts'

/** A page for people, of the document that programs get. No script, nothing from elsewhere: it is text. */

interface Operation {
  operationId: string
  summary: string
  tags: string[]
  security: Record<string, unknown>[]
  parameters: { name: string; in: string; description?: string; schema: object }[]
  requestBody?: { content: Record<string, { schema: object }> }
  responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>
}

interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object>; securitySchemes: Record<string, { description: string }> }
}

let made: { bytes: Buffer; headers: Record<string, string> } | undefined

/** Sends the page of `/docs`. Made once. */
export function sendDocs({ method }: HttpRequest, response: HttpResponse): void {
  made ??= make()
  response.writeHead(200, made.headers)
  if (method === 'HEAD') response.end()
  else response.end(made.bytes)
}

function make(): { bytes: Buffer; headers: Record<string, string> } {
  const bytes = Buffer.from(docsPage(openapiDocument() as unknown as Document))
  const style = hash('sha256', STYLE, 'base64')
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-length': String(bytes.length),
    'content-security-policy': `default-src 'none'; style-src 'sha256-${style}'; frame-ancestors 'none'; base-uri 'none'`,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  }
  return { bytes, headers }
}

/** Pure. */
export function docsPage({ paths, components }: Document): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  )
  const groups = [...Map.groupBy(operations, ({ tags }) => tags[0] ?? '')].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const index = groups.map(([tag]) => `<a href="#${escaped(tag)}">${escaped(tag)}</a>`).join(' ')
  const keys = Object.entries(components.securitySchemes).map(
    ([name, { description }]) => `<li><b>${escaped(name)}</b>: ${escaped(description)}</li>`,
  )
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<details id="schema-${escaped(name)}"><summary><code>${escaped(name)}</code></summary>${json(schema)}</details>`,
  )
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Flotilla's admin API</title><style>${STYLE}</style></head><body>
<header><h1>Flotilla ${escaped(version)}: the admin API</h1>
<p>The same for programs: <a href="/api/openapi.json">openapi.json</a> (with a key). Inference is OpenAI's API, under <code>/v1/</code>.</p>
<nav>${index} <a href="#schemas">schemas</a></nav><h2>Keys</h2><ul>${keys.join('')}</ul></header><main>
${groups.map(([tag, some]) => `<section><h2 id="${escaped(tag)}">${escaped(tag)}</h2>${some.map(operationHtml).join('\n')}</section>`).join('\n')}
<section><h2 id="schemas">schemas</h2>${schemas.join('\n')}</section>
</main></body></html>
`
}

function operationHtml(operation: Operation & { path: string; method: string }): string {
  const { path, method, operationId, summary, security, parameters, requestBody, responses } = operation
  const key = security.flatMap((one) => Object.keys(one)).join(', ') || 'none'
  const rows = parameters.map(
    ({ name, in: where, schema, description = '' }) =>
      `<tr><td><code>${escaped(name)}</code></td><td>${escaped(where)}</td><td>${typeText(schema)} ${escaped(description)}</td></tr>`,
  )
  const answers = Object.entries(responses).map(
    ([status, { description, content }]) =>
      `<tr><td>${escaped(status)}</td><td>${escaped(description)}</td><td>${contentHtml(content)}</td></tr>`,
  )
  return `<details id="${escaped(operationId)}"><summary><b class="m">${escaped(method)}</b> <code>${escaped(path)}</code> ${escaped(summary)}</summary>
<p>Key: ${escaped(key)}</p>
${rows.length > 0 ? `<h3>Parameters</h3><table>${rows.join('')}</table>` : ''}
${requestBody ? `<h3>Body</h3>${contentHtml(requestBody.content)}` : ''}
<h3>Answers</h3><table>${answers.join('')}</table></details>`
}

function contentHtml(content: Record<string, { schema: object }> | undefined): string {
  return Object.entries(content ?? {})
    .map(([type, { schema }]) => `<div><small>${escaped(type)}</small> ${typeText(schema)}</div>`)
    .join('')
}

/** A link where the schema has a name, its text where it is short, else all of it to be opened. */
function typeText(schema: object): string {
  const { $ref: ref, type, items } = schema as { $ref?: string; type?: string; items?: object }
  const [, name] = /#\/components\/schemas\/(.+)$/.exec(ref ?? '') ?? []
  if (name !== undefined) return `<a href="#schema-${escaped(name)}">${escaped(name)}</a>`
  if (type === 'array' && items) return `list of ${typeText(items)}`
  const text = JSON.stringify(schema)
  return text.length < 100
    ? `<code>${escaped(text)}</code>`
    : `<details><summary>its shape</summary>${json(schema)}</details>`
}

function json(value: object): string {
  const text = escaped(JSON.stringify(value, null, 2))
  const linked = text.replaceAll(/&quot;#\/components\/schemas\/([\w-]+)&quot;/g, '<a href="#schema-$1">$1</a>')
  return `<pre>${linked}</pre>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

const STYLE = `:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}
body{max-width:1000px;margin:0 auto;padding:1rem}nav a{margin-right:.6rem}
section>details{border-bottom:1px solid #8884;padding:.35rem 0}summary{cursor:pointer}
.m{display:inline-block;min-width:4.2em}pre{overflow:auto;background:#8882;padding:.6rem;border-radius:6px}
table{border-collapse:collapse;width:100%}td{border-top:1px solid #8884;padding:.25rem .5rem;vertical-align:top}
h3{font-size:1rem;margin:.6rem 0 .2rem}code{font-size:.93em}`
