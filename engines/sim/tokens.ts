/**
 * A tokenizer that needs no vocabulary: a piece is a word with the space before it, one punctuation mark, or a run of
 * white space. Pieces put together again are always the text. Words are cut at `LONGEST_PIECE` characters, so that
 * base64 or Chinese text does not count as one token.
 */
const LONGEST_PIECE = 12

const SPACE = 0
const WORD = 1
const MARK = 2

export function splitTokens(text: string): string[] {
  const pieces: string[] = []
  for (let at = 0; at < text.length;) {
    const end = pieceEnd(text, at)
    pieces.push(text.slice(at, end))
    at = end
  }
  return pieces
}

/** Counts all tokens but keeps the hashes of at most `keep`, so that a 32 MiB prompt costs no more memory than the context. */
export function hashTokens(text: string, keep: number): { count: number; hashes: Uint32Array } {
  const hashes = new Uint32Array(Math.min(text.length, keep))
  let count = 0
  for (let at = 0; at < text.length; count += 1) {
    const end = pieceEnd(text, at)
    if (count < hashes.length) hashes[count] = hash(text, at, end)
    at = end
  }
  return { count, hashes: hashes.subarray(0, count) }
}

/** FNV-1a over UTF-16 units: fast, and good enough to tell tokens apart. */
export function hash(text: string, from = 0, to = text.length): number {
  let value = 0x811c9dc5
  for (let at = from; at < to; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return value >>> 0
}

function pieceEnd(text: string, from: number): number {
  let at = from
  if (text.charCodeAt(at) === 0x20 && at + 1 < text.length && kindAt(text, at + 1) !== SPACE) at += 1
  const kind = kindAt(text, at)
  if (kind === MARK) return at + 1
  const limit = Math.min(text.length, at + LONGEST_PIECE)
  let end = at + 1
  while (end < limit && kindAt(text, end) === kind) end += 1
  // Half a surrogate pair cannot be sent as UTF-8.
  const last = text.charCodeAt(end - 1)
  if (last >= 0xd800 && last <= 0xdbff && end < text.length) end += 1
  return end
}

/** Everything beyond ASCII counts as part of a word: telling its marks from its letters is not worth a Unicode table. */
function kindAt(text: string, at: number): number {
  const code = text.charCodeAt(at)
  if (code <= 0x20) return SPACE
  const isWord =
    code >= 0x80 ||
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x30 && code <= 0x39) ||
    code === 0x27 ||
    code === 0x5f
  return isWord ? WORD : MARK
}
