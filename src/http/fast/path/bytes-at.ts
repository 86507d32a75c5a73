/**
 * Up to this length a loop compares the bytes. `compare` is faster when it runs alone (52 instead of 72 ns for 110 bytes),
 * but slower within a request, whose other code has pushed it out of the processor's caches.
 */
const FEW_BYTES = 256

/** Whether `bytes` contain `expected` at `at`. Makes no string, which would be garbage with every message. */
export function areBytesAt(bytes: Buffer, at: number, expected: Buffer): boolean {
  const { length } = expected
  if (bytes.length < at + length) return false
  if (length > FEW_BYTES) return bytes.compare(expected, 0, length, at, at + length) === 0
  for (let i = 0; i < length; i += 1) if (bytes[at + i] !== expected[i]) return false
  return true
}
