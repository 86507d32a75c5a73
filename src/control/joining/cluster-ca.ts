import { createPublicKey, generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto'
import { AppError } from '../../platform/errors.ts'
import { makeCertificate } from '../../platform/tls/certificate.ts'
import type { CertificatePair } from '../../platform/tls/certificate-pair.ts'
import { ClientTls } from '../../platform/tls/client-tls.ts'
import { derivedKey } from '../../platform/tls/derived-key.ts'

const NAME = 'flotilla cluster'
const DAY_MS = 86_400_000
const SLACK_MS = DAY_MS
/** A certificate without these dates would not be the same on every frontend. */
const FROM_MS = Date.UTC(2025, 0, 1)
const TO_MS = Date.UTC(9999, 11, 31)

export interface ClusterCa {
  /** The CA certificate, for peers that verify what it has signed. The same on every frontend, and after every start. */
  certificate: string
  issue(publicKey: KeyObject, use: 'client' | 'server', name: string, lifeMs: number, nowMs: number): string
}

/**
 * The CA of a cluster: signs gateways for data ports, and the embedded bus for nodes. Its key is derived from the cluster's
 * secret, so all frontends have the same one and nothing more is stored or shared.
 */
export function clusterCa(clusterSecret: string): ClusterCa {
  if (last?.clusterSecret !== clusterSecret) last = { clusterSecret, ca: makeCa(clusterSecret) }
  return last.ca
}

/** A process has one cluster, and every node asks again every few minutes: to make it takes most of a millisecond. */
let last: { clusterSecret: string; ca: ClusterCa } | undefined

function makeCa(clusterSecret: string): ClusterCa {
  const key = derivedKey(clusterSecret, 'cluster ca')
  const issuer = { name: NAME, key }
  const dates = { notBeforeMs: FROM_MS, notAfterMs: TO_MS }
  const facts = { name: NAME, publicKey: createPublicKey(key), use: 'ca' as const, serial: Buffer.of(1), ...dates }
  return {
    certificate: makeCertificate(facts, issuer),
    issue(publicKey, use, name, lifeMs, nowMs) {
      const dates = { notBeforeMs: nowMs - SLACK_MS, notAfterMs: nowMs + lifeMs }
      // Servers are known by their names, so those are names of hosts, too.
      const hosts = use === 'server' ? [name] : []
      return makeCertificate({ name, publicKey, use, hosts, serial: randomBytes(16), ...dates }, issuer)
    },
  }
}

/** A key of its own with a certificate of the cluster's, for as long as a process may run. */
export function issuePair(ca: ClusterCa, use: 'client' | 'server', name: string, nowMs: number): CertificatePair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  return { cert: ca.issue(publicKey, use, name, 3650 * DAY_MS, nowMs), key }
}

const GATEWAY_LIFE_MS = 90 * DAY_MS

/** For the key of a gateway; throws when it is none that can be used. */
export function gatewayCertificate(clusterSecret: string, publicKeyPem: string, nowMs: number): string {
  const publicKey = readPublicKey(publicKeyPem)
  if (publicKey?.asymmetricKeyType !== 'ec' && publicKey?.asymmetricKeyType !== 'ed25519') {
    throw new AppError('bad_request', 'public_key: expected an elliptic curve key, as PEM.')
  }
  return clusterCa(clusterSecret).issue(publicKey, 'client', 'flotilla gateway', GATEWAY_LIFE_MS, nowMs)
}

function readPublicKey(pem: string): KeyObject | undefined {
  try {
    return createPublicKey(pem)
  } catch {
    return undefined
  }
}

const clients = new Map<string, ClientTls>()

/** How control itself connects to data ports; one for all its calls, so that sessions are used again. */
export function controlTls(clusterSecret: string): ClientTls {
  const known = clients.get(clusterSecret)
  if (known) return known
  const client = new ClientTls()
  client.show(issuePair(clusterCa(clusterSecret), 'client', 'flotilla control', Date.now()))
  clients.set(clusterSecret, client)
  return client
}
