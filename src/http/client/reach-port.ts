import { connect } from 'node:net'
import type { Address } from '../../platform/address.ts'

const WITHIN_MS = 3000

/** Why no TCP connection can be made to the address; undefined when one can. */
export function whyUnreachable({ host, port }: Address): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    const end = (why: string | undefined): void => {
      socket.destroy()
      resolve(why)
    }
    socket.setTimeout(WITHIN_MS, () => end(`no answer in ${WITHIN_MS / 1000} s: a firewall, or a wrong address`))
    socket.once('connect', () => end(undefined))
    socket.once('error', ({ code }: NodeJS.ErrnoException) => end(WHY[code ?? ''] ?? code ?? 'it fails'))
  })
}

const WHY: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no machine of that name',
  EAI_AGAIN: 'its name cannot be looked up',
  EHOSTUNREACH: 'there is no route to that machine',
  ENETUNREACH: 'there is no route to that network',
}
