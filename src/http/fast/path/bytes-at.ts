/**
 * Up to this length a loop is used. Asking the system's library is quicker when nothing else is done in between (52 instead
 * of 72 ns for 110 bytes), and slower on the way of a request, whose other code has taken its place in the processor's caches.
 */
const FEW_BYTES = 256

/** Whether `expected` stands in `bytes` from `at` on. Makes no text of them: that would be garbage with every message. */
export function areBytesAt(bytes: Buffer, at: number, expected: Buffer): boolean {
  const { length } = expected
  if (bytes.length < at + length) return false
  if (length > FEW_BYTES) return bytes.compare(expected, 0, length, at, at + length) === 0
  for (let i = 0; i < length; i += 1) if (bytes[at + i] !== expected[i]) return false
  return true
}
