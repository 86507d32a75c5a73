import type { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import { AppError, messageOf } from '../errors.ts'
import { fileProblem } from '../file-problem.ts'
import { fingerprintOf } from './certificate.ts'

/** How a client verifies servers. Without either field it uses the system's CAs. */
export interface Trust {
  /** CAs in PEM, instead of the system's. */
  readonly ca?: string | undefined
  /** Pins exactly these certificates, whatever names are in them; CAs are then ignored. */
  readonly fingerprints?: readonly string[] | undefined
}

/** The server could not prove its identity. */
export class UntrustedError extends AppError {
  constructor(message: string, cause?: unknown) {
    super('usage', message, { cause })
  }
}

export function readTrust(caFile: string | undefined, fingerprints: readonly string[] | undefined): Trust {
  if (caFile === undefined) return { fingerprints }
  let ca: string
  try {
    ca = readFileSync(caFile, 'utf8')
    createSecureContext({ ca })
  } catch (error) {
    const text = `The certificates in ${caFile} cannot be used: ${fileProblem(error)}.`
    throw new AppError('usage', text, { cause: error })
  }
  if (!ca.includes('-----BEGIN CERTIFICATE-----')) {
    throw new AppError('usage', `${caFile} holds no certificate in PEM.`)
  }
  return { ca, fingerprints }
}

const contexts = new WeakMap<Trust, SecureContext>()
let ofSystem: SecureContext | undefined

/** Made once: reading the hundreds of CAs of a system takes longer than a request. */
export function contextOf(trust: Trust): SecureContext {
  if (trust.ca === undefined) {
    ofSystem ??= createSecureContext({ ca: [...getCACertificates('default'), ...getCACertificates('system')] })
    return ofSystem
  }
  const context = contexts.get(trust) ?? createSecureContext({ ca: trust.ca })
  contexts.set(trust, context)
  return context
}

/** What is wrong with a certificate, if anything. */
export function pinProblem(
  at: string,
  shown: X509Certificate | undefined,
  fingerprints: readonly string[],
): AppError | undefined {
  const fingerprint = shown && fingerprintOf(shown)
  if (fingerprint !== undefined && fingerprints.includes(fingerprint)) return undefined
  const known = fingerprints.join(' or ')
  const text = `The certificate at ${at} has the fingerprint ${fingerprint}, and not ${known}.`
  return new UntrustedError(`${text} If it was replaced, give the new one with --fingerprint; else do not trust it.`)
}

/** Adds a remedy to handshake errors; returns others unchanged. */
export function explainHandshake(error: Error, at: string): Error {
  const { code = '' } = error as NodeJS.ErrnoException
  const untrusted = UNTRUSTED.test(code)
  if (!untrusted && code !== 'EPROTO' && code !== 'ERR_SSL_WRONG_VERSION_NUMBER') return error
  const text = untrusted
    ? `The certificate at ${at} is not trusted here (${messageOf(error).split(';')[0]}). ${HOW_TO_TRUST}`
    : `${at} does not answer with HTTPS: use http:// in the address, or start the frontend with --tls.`
  return new UntrustedError(text, error)
}

const UNTRUSTED = /SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|CERT_|ALTNAME/
const HOW_TO_TRUST =
  'Compare what the frontend printed at its start and give it with --fingerprint sha256:…, or give its CA with --ca <file>.'
