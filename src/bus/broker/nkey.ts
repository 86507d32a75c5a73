import { createPublicKey, verify, type KeyObject } from 'node:crypto'

/**
 * A NATS user key as people see it: `U…`, 56 characters of base32 that hold one byte of prefix, the 32 bytes of the
 * Ed25519 public key and a CRC-16 (XMODEM, low byte first) over both.
 */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const ENCODED_LENGTH = 56
const USER_PREFIX = 20 << 3
const SIGNATURE_BYTES = 64

/** The key behind `U…`, or undefined when it is not a well-formed user key. */
export function readUserKey(encoded: string): KeyObject | undefined {
  const bytes = decodeBase32(encoded)
  if (!bytes || bytes[0] !== USER_PREFIX) return undefined
  if (crc16(bytes.subarray(0, 33)) !== bytes.readUInt16LE(33)) return undefined
  const x = bytes.subarray(1, 33).toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}

/** Whether `signature` (base64url) is the key owner's over the nonce it was sent. */
export function isSignedBy(key: KeyObject, nonce: string, signature: string): boolean {
  const bytes = Buffer.from(signature, 'base64url')
  return bytes.length === SIGNATURE_BYTES && verify(null, Buffer.from(nonce), key, bytes)
}

function decodeBase32(text: string): Buffer | undefined {
  if (text.length !== ENCODED_LENGTH) return undefined
  const bytes = Buffer.alloc((ENCODED_LENGTH * 5) / 8)
  let bits = 0
  let held = 0
  let at = 0
  for (const character of text) {
    const value = ALPHABET.indexOf(character)
    if (value < 0) return undefined
    bits = ((bits << 5) | value) & 0xfff
    held += 5
    if (held < 8) continue
    held -= 8
    bytes[at++] = (bits >> held) & 0xff
  }
  return bytes
}

function crc16(bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff
  }
  return crc
}
