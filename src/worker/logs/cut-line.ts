const MOST_BYTES = 8 * 1024
const MARK = ' … (cut: longer than 8 KiB)'

const encoder = new TextEncoder()
const room = new Uint8Array(MOST_BYTES)

/** Cuts a line to 8 KiB: the beginning of a longer one, never half a character, and a mark. */
export function cutLine(text: string): string {
  // No character takes more than three bytes for each of its UTF-16 units.
  if (text.length * 3 <= MOST_BYTES) return text
  const { read } = encoder.encodeInto(text, room)
  return read === text.length ? text : `${text.slice(0, read)}${MARK}`
}
