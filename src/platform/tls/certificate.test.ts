import { execFileSync } from 'node:child_process'
import { createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { fingerprintOf, makeCertificate, type CertificateFacts } from './certificate.ts'
import { derivedKey } from './derived-key.ts'

const NOW = Date.UTC(2026, 1, 3, 4, 5, 6)
const DAY = 86_400_000

function facts(changes: Partial<CertificateFacts> & Pick<CertificateFacts, 'publicKey'>): CertificateFacts {
  const serial = Buffer.from('80ff01', 'hex')
  return { name: 'a test', use: 'server', notBeforeMs: NOW, notAfterMs: NOW + DAY, serial, ...changes }
}

function keys(type: 'p-256' | 'ed25519') {
  return type === 'p-256' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519')
}

describe('a certificate', () => {
  test.each(['p-256', 'ed25519'] as const)('that signs itself says what it was told (%s)', (type) => {
    const { publicKey, privateKey } = keys(type)
    const hosts = ['box', '10.1.2.3', '::1', 'fd00::1:2', '2001:db8:1:2:3:4:5:6']
    const pem = makeCertificate(facts({ publicKey, hosts }), { name: 'a test', key: privateKey })
    const read = new X509Certificate(pem)
    expect(read.subject).toBe('CN=a test')
    expect(read.serialNumber).toBe('80FF01')
    expect(new Date(read.validFrom).getTime()).toBe(NOW)
    expect(new Date(read.validTo).getTime()).toBe(NOW + DAY)
    expect(read.verify(publicKey)).toBe(true)
    expect(read.checkPrivateKey(privateKey)).toBe(true)
    expect(read.ca).toBe(false)
    expect(read.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1'])
    for (const host of ['10.1.2.3', '::1', 'fd00::1:2', '2001:db8:1:2:3:4:5:6']) expect(read.checkIP(host)).toBe(host)
    expect(read.checkHost('box')).toBe('box')
    expect(read.checkHost('other')).toBeUndefined()
  })

  test('is what openssl takes for one, with its strictest checks', () => {
    const [ca, leaf] = [keys('ed25519'), keys('p-256')]
    const far = { notBeforeMs: 0, notAfterMs: Date.UTC(9999, 11, 31, 23, 59, 59) }
    const issuer = { name: 'a CA', key: ca.privateKey }
    const root = makeCertificate(facts({ name: 'a CA', use: 'ca', publicKey: ca.publicKey, ...far }), issuer)
    const signed = makeCertificate(facts({ use: 'client', publicKey: leaf.publicKey, ...far }), issuer)
    const folder = tempFolder()
    const [rootFile, file] = [join(folder, 'ca.pem'), join(folder, 'leaf.pem')]
    writeFileSync(rootFile, root)
    writeFileSync(file, signed)
    const verify = ['verify', '-x509_strict', '-purpose', 'sslclient', '-CAfile', rootFile, file]
    expect(execFileSync('openssl', verify, { encoding: 'utf8' })).toBe(`${file}: OK\n`)
    const text = execFileSync('openssl', ['x509', '-in', rootFile, '-noout', '-text'], { encoding: 'utf8' })
    expect(text).toContain('CA:TRUE')
    expect(text).toContain('Not After : Dec 31 23:59:59 9999 GMT')
    const print = execFileSync('openssl', ['x509', '-in', file, '-noout', '-fingerprint', '-sha256'], {
      encoding: 'utf8',
    })
    expect(fingerprintOf(signed)).toBe(`sha256:${print.split('=')[1]!.trim().replaceAll(':', '').toLowerCase()}`)
  })

  test('with a derived key is the same each time, and another for another secret or purpose', () => {
    const make = (secret: string, purpose: string): string => {
      const key = derivedKey(secret, purpose)
      return makeCertificate(facts({ publicKey: createPublicKey(key) }), { name: 'a test', key })
    }
    expect(make('one', 'a')).toBe(make('one', 'a'))
    expect(new Set([make('one', 'a'), make('one', 'b'), make('two', 'a')]).size).toBe(3)
  })
})
