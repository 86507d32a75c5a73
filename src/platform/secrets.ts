import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { chmodSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { AppError } from './errors.ts'
import { fileProblem } from './file-problem.ts'

/** Reads the secret in `path`, or makes one there (0600) on first use. Safe against two processes making it at once. */
export function readOrCreateSecret(path: string, make: () => string): string {
  const existing = readSecret(path)
  if (existing !== undefined) return existing
  // Written under another name and then linked: no reader sees half a secret, and the first writer wins.
  const temporary = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    writeFileSync(temporary, `${make()}\n`, { mode: 0o600, flag: 'wx' })
    linkSync(temporary, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw new AppError('usage', `Cannot write ${path}: ${fileProblem(error)}.`, { cause: error })
    }
  } finally {
    rmSync(temporary, { force: true })
  }
  return readSecret(path) ?? readOrCreateSecret(path, make)
}

function readSecret(path: string): string | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
    chmodSync(path, 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new AppError('usage', `Cannot read ${path}: ${fileProblem(error)}.`, { cause: error })
  }
  if (text === '') throw new AppError('usage', `${path} is empty. Delete it and start again to get a new one.`)
  return text
}

/** 256 random bits as text that can be pasted anywhere, with a prefix that says what it opens. */
export function newSecret(prefix: string): string {
  return `${prefix}_${randomBytes(32).toString('base64url')}`
}

/** A secret derived from another one without revealing it: the same for the same purpose. */
export function derivedSecret(prefix: string, from: string, purpose: string): string {
  return `${prefix}_${createHmac('sha256', from).update(purpose).digest('base64url')}`
}

/**
 * Compares in constant time; the length is not secret. Not by hashes: hashing took a quarter of the time that a data
 * port spends on a short request.
 */
export function sameSecret(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a, 'utf16le'), Buffer.from(b, 'utf16le'))
}

/**
 * The sha256 of a secret, in hex: what is kept and passed around instead of it. A secret is random and long, so that a
 * plain hash gives nothing away, and cheap enough (0.3 µs) to be made for each request.
 */
export function hashSecret(text: string): string {
  return hash('sha256', text, 'hex')
}

/** Compares two hashes of `hashSecret` in constant time. */
export function sameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}
