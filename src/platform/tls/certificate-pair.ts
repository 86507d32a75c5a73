import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { AppError, messageOf } from '../errors.ts'
import { fileProblem } from '../file-problem.ts'

/** A certificate, optionally followed by its chain, and its key; both as PEM. */
export interface CertificatePair {
  cert: string
  key: string
}

export interface PairFiles {
  cert: string
  key: string
}

/** Reads and checks both files before they are used, and says which one is wrong and why. */
export function readPair(files: PairFiles): CertificatePair {
  const cert = readPem('certificate', files.cert)
  const key = readPem('key', files.key)
  let leaf: X509Certificate
  try {
    leaf = new X509Certificate(cert)
  } catch (error) {
    throw unusable(`${files.cert} holds no certificate in PEM`, error)
  }
  if (!leaf.checkPrivateKey(privateKey(key, files.key))) {
    throw unusable(`the key in ${files.key} does not match the certificate in ${files.cert}`)
  }
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw unusable(`${files.cert} and ${files.key} cannot be used (${messageOf(error)})`, error)
  }
  return { cert, key }
}

function privateKey(pem: string, file: string): KeyObject {
  if (pem.includes('ENCRYPTED')) throw unusable(`the key in ${file} has a password; give one that has none`)
  try {
    return createPrivateKey(pem)
  } catch (error) {
    // OpenSSL's message may quote the key.
    throw unusable(`${file} holds no private key in PEM`, error)
  }
}

function readPem(what: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw unusable(`the ${what} ${file} cannot be read: ${fileProblem(error)}`, error)
  }
}

function unusable(why: string, cause?: unknown): AppError {
  return new AppError('usage', `TLS: ${why}.`, { cause })
}
