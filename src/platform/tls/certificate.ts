import { createPublicKey, hash, sign, X509Certificate, type KeyObject } from 'node:crypto'
import { isIP } from 'node:net'
import { bitString, boolean, integer, objectId, octetString, sequence, set, tagged, time, utf8String } from './der.ts'

/** The subject of a certificate, and what it may be used for. */
export interface CertificateFacts {
  /** The common name. */
  name: string
  publicKey: KeyObject
  /** A `ca` signs others; a `server` shows it to clients, a `client` to servers. */
  use: 'ca' | 'server' | 'client'
  /** The names and addresses of the server. */
  hosts?: readonly string[]
  notBeforeMs: number
  notAfterMs: number
  serial: Uint8Array
}

export interface Issuer {
  name: string
  key: KeyObject
}

/**
 * A certificate as PEM, signed by the issuer, which is the subject itself for a self-signed one. Keys are Ed25519 or
 * P-256. Node has no function for this; the part of X.509 that our own certificates need fits on this page (decision
 * 0038).
 */
export function makeCertificate(facts: CertificateFacts, issuer: Issuer): string {
  const algorithm = algorithmOf(issuer.key)
  const content = sequence(
    tagged(0, 'around', integer(Buffer.of(2))),
    integer(facts.serial),
    algorithm,
    nameOf(issuer.name),
    sequence(time(facts.notBeforeMs), time(facts.notAfterMs)),
    nameOf(facts.name),
    facts.publicKey.export({ type: 'spki', format: 'der' }),
    tagged(3, 'around', sequence(...extensionsOf(facts, createPublicKey(issuer.key)))),
  )
  const signature = sign(issuer.key.asymmetricKeyType === 'ed25519' ? null : 'sha256', content, issuer.key)
  return new X509Certificate(sequence(content, algorithm, bitString(signature))).toString()
}

/** How people compare certificates: `sha256:` and 64 hexadecimal digits. */
export function fingerprintOf(certificate: X509Certificate | string): string {
  const { raw } = typeof certificate === 'string' ? new X509Certificate(certificate) : certificate
  return `sha256:${hash('sha256', raw, 'hex')}`
}

function algorithmOf({ asymmetricKeyType: type }: KeyObject): Buffer {
  return sequence(objectId(type === 'ed25519' ? '1.3.101.112' : '1.2.840.10045.4.3.2'))
}

function nameOf(commonName: string): Buffer {
  return sequence(set(sequence(objectId('2.5.4.3'), utf8String(commonName))))
}

function extensionsOf({ use, hosts = [], publicKey }: CertificateFacts, issuerKey: KeyObject): Buffer[] {
  const isCa = use === 'ca'
  const purposes = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' }
  return [
    extension('2.5.29.19', true, isCa ? sequence(boolean(true)) : sequence()),
    // Bit 5 is the right to sign certificates, bit 0 that to sign a handshake.
    extension('2.5.29.15', true, isCa ? bitString(Buffer.of(0x04), 2) : bitString(Buffer.of(0x80), 7)),
    extension('2.5.29.14', false, octetString(keyId(publicKey))),
    extension('2.5.29.35', false, sequence(tagged(0, 'instead', keyId(issuerKey)))),
    ...(use === 'ca' ? [] : [extension('2.5.29.37', false, sequence(objectId(purposes[use])))]),
    ...(hosts.length === 0 ? [] : [extension('2.5.29.17', false, sequence(...hosts.map(alternativeName)))]),
  ]
}

function extension(id: string, isCritical: boolean, value: Buffer): Buffer {
  return sequence(objectId(id), ...(isCritical ? [boolean(true)] : []), octetString(value))
}

function keyId(key: KeyObject): Buffer {
  return hash('sha256', key.export({ type: 'spki', format: 'der' }), 'buffer').subarray(0, 20)
}

function alternativeName(host: string): Buffer {
  return isIP(host) === 0 ? tagged(2, 'instead', Buffer.from(host)) : tagged(7, 'instead', addressBytes(host))
}

function addressBytes(host: string): Buffer {
  if (isIP(host) === 4) return Buffer.from(host.split('.').map(Number))
  // A URL writes an IPv6 address in groups of hexadecimal digits, whatever it was given.
  const [head = '', tail] = new URL(`http://[${host}]`).hostname.slice(1, -1).split('::')
  const groups = (text: string | undefined): string[] => (text ? text.split(':') : [])
  const [before, after] = [groups(head), groups(tail)]
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join(''), 'hex')
}
