import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { once } from 'node:events'
import { expect, onTestFinished, test, vi } from 'vitest'
import { aCertificatePair } from '../../../test/support/http/certificates.ts'
import { serve } from '../../../test/support/http/http.ts'
import { rawClient } from '../../../test/support/http/raw-client.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { silentLogger } from '../run/log.ts'
import { fingerprintOf } from './certificate.ts'
import { tlsFromFiles } from './listener-tls.ts'
import { makeSelfSigned, selfSignedPair } from './self-signed.ts'

const LOOK_MS = 3000

async function aListener() {
  const folder = tempFolder()
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  const put = ({ cert, key }: { cert?: string; key?: string }): void => {
    if (cert !== undefined) writeFileSync(files.cert, cert)
    if (key !== undefined) writeFileSync(files.key, key)
  }
  put(aCertificatePair())
  const clock = new VirtualClock(Date.now())
  const warn = vi.fn()
  const tls = tlsFromFiles(files, clock, { ...silentLogger, warn })
  onTestFinished(() => tls.dispose())
  const url = await serve((_, response) => void response.end('hi'), { tls: { upgrade: () => tls.upgrade } })
  const shown = async (): Promise<string> => {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const certificate = socket.getPeerX509Certificate()!
    socket.destroy()
    return fingerprintOf(certificate)
  }
  return { tls, put, files, clock, warn, url, shown }
}

test('a certificate that is replaced is shown from then on, and open connections stay', async () => {
  const { tls, put, clock, url, shown } = await aListener()
  const replaced = vi.fn()
  tls.onReplaced(replaced)
  const client = await rawClient(url)
  const before = tls.fingerprint
  expect(await shown()).toBe(before)
  const next = makeSelfSigned(['127.0.0.1'], Date.now())
  put(next)
  await clock.advance(LOOK_MS)
  expect(tls.fingerprint).toBe(fingerprintOf(next.cert))
  expect(tls.fingerprint).not.toBe(before)
  expect(await shown()).toBe(tls.fingerprint)
  expect(replaced).toHaveBeenCalledTimes(1)
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await client.reads('hi')
})

test('one that cannot be used is told of, and the old one goes on until it can', async () => {
  const { tls, put, files, clock, warn, shown } = await aListener()
  const before = tls.fingerprint
  const next = makeSelfSigned(['127.0.0.1'], Date.now())
  put({ cert: 'no certificate' })
  await clock.advance(LOOK_MS)
  expect(warn).toHaveBeenCalledTimes(1)
  rmSync(files.cert)
  await clock.advance(LOOK_MS)
  // Its key is still to come.
  put({ cert: next.cert })
  await clock.advance(LOOK_MS)
  expect(warn.mock.lastCall![0]).toMatchObject({ error: expect.stringContaining('does not match the certificate') })
  expect([tls.fingerprint, await shown()]).toEqual([before, before])
  put({ key: next.key })
  await clock.advance(LOOK_MS)
  expect(await shown()).toBe(fingerprintOf(next.cert))
})

test('what is wrong with the files stops the start', () => {
  const folder = tempFolder()
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const open = () => tlsFromFiles({ cert, key }, new VirtualClock(Date.now()), silentLogger)
  expect(open).toThrow(/the certificate \S+ cannot be read: there is no such file/)
  writeFileSync(cert, aCertificatePair().cert)
  writeFileSync(key, 'no key')
  expect(open).toThrow(`${key} holds no private key in PEM`)
  writeFileSync(key, makeSelfSigned([], Date.now()).key)
  expect(open).toThrow('does not match the certificate')
})

test('a self-signed one is made once, for its owner alone, and made anew before it ends', () => {
  const folder = tempFolder()
  const files = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') }
  const nowMs = Date.now()
  const made = selfSignedPair(files, '10.0.0.1', nowMs)
  expect(statSync(files.key).mode & 0o777).toBe(0o600)
  expect(selfSignedPair(files, '10.0.0.1', nowMs)).toEqual(made)
  expect(selfSignedPair(files, '10.0.0.1', nowMs + 10 * 365 * 86_400_000)).not.toEqual(made)
})
