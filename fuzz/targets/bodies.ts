import type { IncomingHttpHeaders } from 'node:http'
import fc from 'fast-check'
import { adminRoutes } from '../../src/api/admin/routes.ts'
import { signedRegistration } from '../../src/api/admin/schemas.ts'
import { AnswerScan } from '../../src/cli/bench/load/answer-scan.ts'
import { checkProof, checkProtocol } from '../../src/control/joining/registration.ts'
import { jsonFields, withoutPause } from '../../src/core/lib/json-fields.ts'
import { jsonMistakeAt } from '../../src/core/lib/json-mistake.ts'
import { plainFields } from '../../src/core/lib/plain-fields.ts'
import { readRequest, type ReadRequest } from '../../src/gateway/request/read-request.ts'
import type { HttpRequest } from '../../src/http/exchange.ts'
import { parseJson } from '../../src/http/server.ts'
import { replaceModel } from '../../src/worker/data-port/replace-model.ts'
import { inPieces } from '../pieces.ts'
import { adminSamples, registration } from '../samples.ts'
import { spoiled } from '../spoil.ts'
import { spoiledJson } from '../spoil-json.ts'
import { insist, mayRefuse, mayRefuseLater, type FuzzTarget } from '../target.ts'

const asked = [
  { model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }], user: 'u' },
  { model: 'größe', input: ['a', 'b'], metadata: { user_id: 'x' } },
]
const form = (name: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nm\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nxyz\r\n--b--\r\n`
const bodies = Object.values(adminRoutes).flatMap((route) => ('body' in route ? [route.body] : []))

export const bodyTargets: readonly FuzzTarget[] = [
  {
    name: 'inference-json',
    reads: 'the JSON of a request for a model',
    cases: spoiledJson(asked),
    read: async (bytes) => checkPlain(bytes, await readInference(bytes, 'application/json')),
  },
  {
    name: 'inference-form',
    reads: 'the form of a request for a model, with files in it',
    cases: spoiled([form('model'), form('stream')], ['--b', '\r\n\r\n', 'name="', '; ', 'filename*=', '\\"']),
    read: async (bytes) => void (await readInference(bytes, 'multipart/form-data; boundary=b')),
  },
  {
    name: 'json-scan',
    reads: 'the same JSON without parsing it, as it is done for long bodies and at data ports',
    cases: spoiledJson(asked),
    read(bytes) {
      const found = withoutPause(jsonFields(bytes, ['model', 'user']))
      for (const [start, end] of found?.get('model') ?? [])
        insist(start <= end && end <= bytes.length, 'a span outside')
      const replaced = replaceModel(bytes, 'other')
      const parsed = tryJson(bytes)
      // Bytes that are no UTF-8 are read as others than they were.
      if (parsed === undefined || bytes.includes('\ufffd') || !Buffer.from(bytes.toString()).equals(bytes)) return
      const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      insist(!isObject || found !== undefined, 'an object was not seen as one')
      if (!isObject || !Object.hasOwn(parsed, 'model')) return
      insist((tryJson(replaced) as { model?: unknown }).model === 'other', 'the model was not replaced')
    },
  },
  {
    name: 'json-mistake',
    reads: 'any JSON, to say where it is wrong',
    cases: spoiledJson(asked),
    read(bytes) {
      const text = bytes.toString()
      const at = jsonMistakeAt(text)
      insist((at === undefined) === (tryJson(bytes) !== undefined), 'JSON is judged differently')
      insist(at === undefined || (at >= 0 && at <= text.length), 'a place outside of the text')
      mayRefuse(() => parseJson(bytes))
    },
  },
  {
    name: 'admin-bodies',
    reads: 'the bodies of all calls of the admin API',
    share: 0.5,
    cases: spoiledJson(adminSamples),
    read(bytes) {
      const parsed = mayRefuse(() => parseJson(bytes))
      for (const schema of bodies) schema.safeParse(parsed)
    },
  },
  {
    name: 'registration',
    reads: 'what a machine says that wants to join, and the proof of its key',
    cases: spoiledJson([registration]),
    read(bytes) {
      const parsed = mayRefuse(() => parseJson(bytes))
      mayRefuse(() => checkProtocol('worker', parsed))
      const { data } = signedRegistration.safeParse(parsed)
      if (!data) return
      const isProven = mayRefuse(
        () => (checkProof(data.registration, data.signature, data.registration.signed_at), true),
      )
      insist(!isProven, 'a registration without the right signature was believed')
    },
  },
  {
    name: 'answer-usage',
    reads: 'the streamed answer of a model, for its words and its usage',
    cases: fc.oneof(
      spoiled(
        ['data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"usage":{"prompt_tokens":1}}\n\ndata: [DONE]\n\n'],
        ['data: ', '\n\n', '{"choices":', '"usage":', '[DONE]', 'event: error\n'],
      ),
      spoiledJson([{ choices: [{ message: { content: 'a' }, finish_reason: 'stop' }], usage: { prompt_tokens: 1 } }]),
      spoiledJson([{ choices: [{ delta: { content: 'a' } }], error: { code: 1, message: 'm' } }]).map((json) =>
        Buffer.concat([Buffer.from('data: '), json, Buffer.from('\n\n')]),
      ),
    ),
    read(bytes) {
      const scan = new AnswerScan(() => {}, true)
      for (const piece of inPieces(bytes)) scan.feed(piece, 0)
      new AnswerScan(() => {}, true).take(bytes)
      insist(scan.characters >= 0 && scan.characters <= bytes.length, 'more words than bytes')
    },
  },
]

async function readInference(body: Buffer, type: string): Promise<ReadRequest | undefined> {
  const headers: IncomingHttpHeaders = { 'content-type': type }
  const request = { method: 'POST', url: '/v1/x', headers, rawHeaders: [], whole: body } as unknown as HttpRequest
  const read = await mayRefuseLater(() => readRequest(request))
  if (!read) return undefined
  insist(read.model !== '' && read.model.length <= 1024, 'no name of a model')
  insist(read.body.equals(body), 'the body is another')
  return read
}

/** What is seen at a glance is what is found by parsing. */
function checkPlain(bytes: Buffer, read: ReadRequest | undefined): void {
  const plain = plainFields(bytes, 0)
  if (!plain) return
  insist(plain.model === read?.model, 'another model, or one that is none')
  insist(plain.user === read?.sessionKey && plain.isStream === read?.isStream, 'another user, or another stream')
}

function tryJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown
  } catch {
    return undefined
  }
}
