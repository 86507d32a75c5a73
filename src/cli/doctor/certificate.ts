import { connect } from 'node:tls'
import { isLoopback } from '../../platform/address.ts'
import type { Cluster } from '../cluster.ts'
import { span } from '../terminal/format.ts'
import { broken, note, ok, type Finding } from './finding.ts'

const WITHIN_MS = 5000
const SOON_MS = 14 * 86_400_000

/** Whether the connection is encrypted, and how long the certificate lasts. Trust was checked by the request before. */
export async function lookAtCertificate({ url }: Pick<Cluster, 'url'>): Promise<Finding[]> {
  const { protocol, hostname, port } = new URL(url)
  const host = hostname.replaceAll(/[[\]]/g, '')
  if (protocol === 'http:')
    return [isLoopback(host) ? ok('tls', 'not needed: nothing leaves this machine') : unencrypted()]
  const endsMs = await endOfCertificate(host, Number(port || 443))
  if (endsMs === undefined) return [broken('tls', 'no certificate can be read', 'Look at --tls-cert and --tls-key.')]
  const leftMs = endsMs - Date.now()
  const fix = 'Renew it: replace the files of --tls-cert and --tls-key; a running frontend takes them over.'
  if (leftMs < 0) return [broken('tls', `the certificate ended ${span(-leftMs)} ago`, fix)]
  const text = `the certificate lasts ${span(leftMs)} more`
  return [leftMs < SOON_MS ? note('tls', text, fix) : ok('tls', text)]
}

function unencrypted(): Finding {
  const fix = 'Start the frontend with --tls self-signed, or with --tls-cert and --tls-key.'
  return note('tls', 'not used: what is sent to it can be read on the way', fix)
}

function endOfCertificate(host: string, port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    // Sends nothing: the frontend was verified by the request before.
    const socket = connect({ host, port, rejectUnauthorized: false })
    const end = (endsMs: number | undefined): void => {
      socket.destroy()
      resolve(endsMs)
    }
    socket.setTimeout(WITHIN_MS, () => end(undefined))
    socket.once('error', () => end(undefined))
    socket.once('secureConnect', () => end(Date.parse(socket.getPeerCertificate().valid_to) || undefined))
  })
}
