/**
 * The id of a gateway process, from its nkey: the same for the same key, whoever works it out. The first letter says only
 * that it is a user's key; 15 of the others are 75 random bits.
 */
export function gatewayIdOf(publicKey: string): string {
  return `gateway-${publicKey.slice(2, 17).toLowerCase()}`
}
