/** Everything a client could otherwise make grow. The defaults are nats-server's unless a comment gives a reason. */
export interface BrokerLimits {
  maxPayloadBytes: number
  /** The arguments of one operation, without its name. */
  maxControlLineBytes: number
  /** Bytes waiting for one client that does not read; past this it is cut off as a slow consumer. */
  maxPendingBytes: number
  /** How long a silent connection is left alone before it is asked for a sign of life. */
  pingIntervalMs: number
  /** Questions without an answer before the connection counts as dead. */
  maxPingsOut: number
  maxConnections: number
  /** Per client. */
  maxSubscriptions: number
  /** From accepting the connection (TLS handshake included) to valid credentials. */
  authTimeoutMs: number
  /** Reply subjects remembered for each client that may only answer; the oldest are forgotten first. */
  maxRememberedReplies: number
  replyExpiryMs: number
  /** For each client with a user, except those of the broker's own process: what it sends beyond is read later. */
  clientBytesPerS: number
  clientMessagesPerS: number
}

export const defaultLimits: BrokerLimits = {
  maxPayloadBytes: 1024 * 1024,
  maxControlLineBytes: 4096,
  maxPendingBytes: 64 * 1024 * 1024,
  // nats-server waits two minutes; a node that vanished should be noticed sooner.
  pingIntervalMs: 30_000,
  maxPingsOut: 2,
  // A few thousand nodes and gateways; each costs a descriptor and a few KiB.
  maxConnections: 4096,
  // nats-server has no limit; one role uses some tens.
  maxSubscriptions: 10_000,
  authTimeoutMs: 2_000,
  maxRememberedReplies: 16_384,
  replyExpiryMs: 120_000,
  // Far above what a gateway or a worker sends, and a fraction of what this process can take in.
  clientBytesPerS: 32 * 1024 * 1024,
  clientMessagesPerS: 20_000,
}
