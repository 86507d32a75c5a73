import { makeSelfSigned } from '../../../src/platform/tls/self-signed.ts'

let made: ReturnType<typeof makeSelfSigned> | undefined

/** A certificate for this machine that signs itself; the same for all tests of a file. */
export function aCertificatePair(): { cert: string; key: string } {
  made ??= makeSelfSigned(['127.0.0.1', 'localhost'], Date.now())
  return made
}
