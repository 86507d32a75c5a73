import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aCertificatePair } from '../../../test/support/http/certificates.ts'
import { serve } from '../../../test/support/http/http.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { requestJson } from '../../http/client.ts'
import { sendJson } from '../../http/server.ts'
import { fixedTls } from './listener-tls.ts'
import { makeSelfSigned } from './self-signed.ts'
import { readTrust, UntrustedError, type Trust } from './trust.ts'

/** A server with the certificate that all tests share; who was heard there. */
async function aServer() {
  const tls = fixedTls(aCertificatePair())
  const heard: (string | undefined)[] = []
  const url = await serve(
    (request, response) => {
      heard.push(request.headers.authorization)
      sendJson(response, 200, { well: true })
    },
    { tls: { upgrade: () => tls.upgrade } },
  )
  const ask = (trust?: Trust, at = url) =>
    requestJson(new URL(at), { method: 'POST', body: {}, token: 'secret', timeoutMs: 5000, trust })
  return { url, heard, ask, fingerprint: tls.fingerprint }
}

test('a server is known by its fingerprint, or by a CA that vouches for it', async () => {
  const { ask, url, fingerprint } = await aServer()
  const ca = join(tempFolder(), 'ca.pem')
  writeFileSync(ca, aCertificatePair().cert)
  const other = `sha256:${'0'.repeat(64)}`
  for (const trust of [{ fingerprints: [other, fingerprint] }, readTrust(ca, undefined)]) {
    expect((await ask(trust)).body).toEqual({ well: true })
    expect((await ask(trust, url.replace('127.0.0.1', 'localhost'))).body).toEqual({ well: true })
  }
})

test('who is not known hears nothing, and what to do is said', async () => {
  const { ask, heard } = await aServer()
  const other = `sha256:${'0'.repeat(64)}`
  const stranger = makeSelfSigned(['127.0.0.1'], Date.now()).cert
  const tries: [Trust | undefined, RegExp][] = [
    [undefined, /not trusted here .*--fingerprint sha256:….*--ca/],
    [{ ca: stranger }, /not trusted here/],
    [{ fingerprints: [other] }, /has the fingerprint sha256:[0-9a-f]{64}, and not sha256:0{64}.* --fingerprint/],
  ]
  for (const [trust, message] of tries) {
    const failure = await ask(trust).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(UntrustedError)
    expect((failure as Error).message).toMatch(message)
  }
  expect(heard).toEqual([])
})

test('a server that speaks plain HTTP is told from one that is away', async () => {
  const url = await serve((_, response) => void response.end('{}'))
  const ask = (at: string) => requestJson(new URL(at), { method: 'GET', timeoutMs: 5000 })
  await expect(ask(url.replace('http:', 'https:'))).rejects.toThrow('use http:// in the address')
  await expect(ask('https://127.0.0.1:1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

test('a file without certificates is refused', () => {
  const file = join(tempFolder(), 'ca.pem')
  writeFileSync(file, 'hello')
  expect(() => readTrust(file, undefined)).toThrow('holds no certificate in PEM')
  expect(() => readTrust(`${file}.not`, undefined)).toThrow('cannot be used')
})
