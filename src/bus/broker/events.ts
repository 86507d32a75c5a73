/** The client, as far as known. Names and addresses only: no signature, nonce or payload ever gets in here. */
export interface Peer {
  clientId: number
  address: string
  /** The user's public key, once it has proved to own it. */
  user?: string
  /** The name that the client gave itself: not to be trusted. */
  name?: string
}

export type DisconnectReason =
  | 'client closed'
  | 'connection lost'
  | 'protocol error'
  | 'authentication failed'
  | 'authentication timeout'
  | 'tls handshake failed'
  | 'user removed'
  | 'stale'
  | 'slow consumer'
  | 'too many connections'
  | 'broker stopped'

/** What the broker has to say to its role's log. */
export type BrokerEvent =
  | { kind: 'connected'; peer: Peer }
  | { kind: 'disconnected'; peer: Peer; reason: DisconnectReason; detail?: string }
  | { kind: 'slow consumer'; peer: Peer; pendingBytes: number }
  | { kind: 'auth failure'; peer: Peer; detail: string }
  | {
      kind: 'permission violation'
      peer: Peer
      action: 'publish' | 'subscribe'
      subject: string
      /** How many of this client's were not told since the last one. */
      unreported: number
    }
  | { kind: 'listener error'; detail: string }
