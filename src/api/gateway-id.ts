/**
 * The id of a gateway process, derived from its nkey, so that every process computes the same one. The first letter only
 * marks a user's key; 15 of the others are 75 random bits.
 */
export function gatewayIdOf(publicKey: string): string {
  return `gateway-${publicKey.slice(2, 17).toLowerCase()}`
}
