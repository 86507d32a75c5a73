import type { Server } from 'node:net'
import { formatAddress, type Address } from '../../platform/address.ts'
import { AppError, messageOf } from '../../platform/errors.ts'

export interface ListenOptions {
  listen: Address
  /** What the listener is for, and the flag that moves it: both go into the message when the port is taken. */
  purpose: string
  flag: string
  /** Other Flotilla processes listen on the same port, and the operating system spreads the connections over them. */
  sharesPort?: boolean
}

export function listenOn(server: Server, { listen, purpose, flag, sharesPort = false }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, listen, purpose, flag)))
    server.listen({ host: listen.host, port: listen.port, reusePort: sharesPort }, () => resolve())
  })
}

/** Why a listener cannot be opened, in one line, with the flag that moves it. */
export function listenError(error: NodeJS.ErrnoException, listen: Address, purpose: string, flag: string): AppError {
  const where = formatAddress(listen)
  const reasons: Record<string, string> = {
    EADDRINUSE: 'another program uses that port',
    EACCES: 'this user may not use that port',
    EADDRNOTAVAIL: 'this machine does not have that address',
  }
  const reason = reasons[error.code ?? ''] ?? messageOf(error)
  return new AppError(
    'usage',
    `Cannot listen on ${where} for ${purpose}: ${reason}. Choose another with ${flag} host:port.`,
    {
      cause: error,
    },
  )
}
