import { generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { hostname, networkInterfaces } from 'node:os'
import { writeWhole } from '../write-whole.ts'
import { makeCertificate } from './certificate.ts'
import { readPair, type CertificatePair, type PairFiles } from './certificate-pair.ts'

const DAY_MS = 86_400_000
const LIFE_MS = 10 * 365 * DAY_MS
/** Clocks of other machines may be behind. */
const SLACK_MS = DAY_MS
/** A certificate that expires this soon is replaced at a start. */
const LEFT_MS = 30 * DAY_MS

/**
 * The certificate in these files, which is made (0600) on first use and kept, so that clients need to trust it only
 * once.
 */
export function selfSignedPair(files: PairFiles, host: string, nowMs: number): CertificatePair {
  if (existsSync(files.cert) && existsSync(files.key)) {
    const kept = readPair(files)
    if (new Date(new X509Certificate(kept.cert).validTo).getTime() - nowMs > LEFT_MS) return kept
  }
  const made = makeSelfSigned([host, ...hostsOfMachine()], nowMs)
  // The key first: a certificate without its key would keep the next start from making both.
  writeWhole(files.key, made.key)
  writeWhole(files.cert, made.cert)
  return made
}

/** P-256, which every browser takes; Ed25519 none does. */
export function makeSelfSigned(hosts: readonly string[], nowMs: number): CertificatePair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = `flotilla ${hostname()}`.slice(0, 64)
  const facts = {
    name,
    publicKey,
    use: 'server' as const,
    hosts: [...new Set(hosts)].filter((one) => one !== '0.0.0.0' && one !== '::'),
    notBeforeMs: nowMs - SLACK_MS,
    notAfterMs: nowMs + LIFE_MS,
    serial: randomBytes(16),
  }
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  return { cert: makeCertificate(facts, { name, key: privateKey }), key }
}

/** The machine's names and addresses now, for clients that compare names. */
function hostsOfMachine(): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((found) => found ?? [])
  // A link-local address is useless without the name of the link.
  const reachable = addresses.map(({ address }) => address).filter((address) => !/^fe80:/i.test(address))
  return [hostname(), 'localhost', ...reachable.slice(0, 64)]
}
