import type { IncomingMessage } from 'node:http'
import type { Route } from '../../api/admin/routes.ts'
import { SIGNATURE_LIFE_MS, signedText } from '../../api/node-signature.ts'
import { verify } from '../../bus/nkey.ts'
import { AppError } from '../../platform/errors.ts'
import { bearerToken, pathOf } from '../../platform/http.ts'
import { sameSecret } from '../../platform/secrets.ts'
import { findToken } from '../../store/join-tokens.ts'
import { findNode } from '../../store/nodes.ts'
import { UNKNOWN_TOKEN } from '../register-node.ts'
import type { AdminDeps } from './deps.ts'

export interface Caller {
  /** The join token that was shown, on the routes that ask for one. */
  token: string
  request: IncomingMessage
}

type AuthorizeDeps = Pick<AdminDeps, 'db' | 'adminKey' | 'clock'>

/** Lets a caller in or throws; nothing of the body has been read yet. */
export async function authorize(
  request: IncomingMessage,
  auth: Route['auth'],
  params: Readonly<Record<string, string>>,
  deps: AuthorizeDeps,
): Promise<Caller> {
  const caller: Caller = { token: '', request }
  switch (auth) {
    case 'none':
      return caller
    case 'admin': {
      const key = neededBearer(request, 'admin key')
      if (!sameSecret(key, deps.adminKey)) throw new AppError('unauthorized', 'The admin key is wrong.')
      return caller
    }
    case 'join': {
      const token = neededBearer(request, 'join token')
      if (!(await findToken(deps.db, token))) throw new AppError('unauthorized', UNKNOWN_TOKEN)
      return { ...caller, token }
    }
    case 'node':
      await checkSigner(request, params['id']!, deps)
      return caller
  }
}

function neededBearer(request: IncomingMessage, what: string): string {
  const token = bearerToken(request)
  if (token) return token
  throw new AppError('unauthorized', `This call needs the ${what}: Authorization: Bearer <${what}>.`)
}

/** The node named in the path is the one that signed this very call just now. */
async function checkSigner(request: IncomingMessage, id: string, { db, clock }: AuthorizeDeps): Promise<void> {
  const match = /^Node\s+(\d{1,15})\.([\w-]{1,200})\s*$/i.exec(request.headers.authorization ?? '')
  if (!match) {
    throw new AppError(
      'unauthorized',
      'This call needs the signature of the node: Authorization: Node <time>.<signature>.',
    )
  }
  const [signedAtMs, signature] = [Number(match[1]), match[2]!]
  const node = await findNode(db, id)
  if (!node) throw new AppError('not_found', `There is no node "${id}".`)
  const text = signedText(request.method ?? 'GET', pathOf(request), signedAtMs)
  if (!verify(node.public_key, text, signature)) {
    throw new AppError('forbidden', `The call is not signed with the key of ${node.name}.`)
  }
  if (Math.abs(clock.nowMs() - signedAtMs) > SIGNATURE_LIFE_MS) {
    throw new AppError(
      'forbidden',
      "The call was signed more than 5 minutes away from this frontend's time. Set both clocks.",
    )
  }
}
