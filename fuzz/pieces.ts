/** The same bytes as a network may bring them: cut at places that follow from the bytes, so that a case is always the same. */
export function inPieces(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = []
  let at = 0
  let hash = bytes.length
  while (at < bytes.length) {
    hash = (hash * 31 + bytes[at]!) % 997
    const end = Math.min(bytes.length, at + 1 + (hash % (pieces.length < 20 ? 40 : 4000)))
    pieces.push(bytes.subarray(at, end))
    at = end
  }
  return pieces
}
