import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { nkeyAuthenticator, nkeys, type Authenticator } from '@nats-io/transport-node'
import type { Permissions } from '../../api/bus/permissions.ts'

/** A user that a server can be told of and a client can be. */
export interface TestUser {
  publicKey: string
  permissions: Permissions
  authenticator: Authenticator
  /** What a raw client adds to its CONNECT to prove it is this user. */
  sign(info: Record<string, unknown>): { nkey: string; sig: string }
}

export function aUser(permissions: Partial<Permissions> = {}): TestUser {
  const pair = nkeys.createUser()
  const publicKey = pair.getPublicKey()
  return {
    publicKey,
    permissions: { publish: ['>'], subscribe: ['>'], respond: false, ...permissions },
    authenticator: nkeyAuthenticator(pair.getSeed()),
    sign: ({ nonce }) => ({
      nkey: publicKey,
      sig: Buffer.from(pair.sign(Buffer.from(String(nonce)))).toString('base64url'),
    }),
  }
}

/** A certificate for 127.0.0.1 that signs itself, so that it is its own CA too. */
export async function aCertificate(): Promise<{ key: string; cert: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-cert-'))
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const names = ['-subj', '/CN=flotilla test', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost']
  try {
    await promisify(execFile)('openssl', ['req', '-x509', ...curve, ...names, '-keyout', keyFile, '-out', certFile])
    return { key: await readFile(keyFile, 'utf8'), cert: await readFile(certFile, 'utf8') }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
