/** Characters of header names, of header values, and of paths. A character outside its class ends the token. */
export const TOKEN_CHARACTER = 1
export const VALUE_CHARACTER = 2
export const URL_CHARACTER = 4

const [SPACE, TAB] = [0x20, 0x09]

const CLASSES = new Uint8Array(256)
for (let byte = 0; byte < 256; byte += 1) {
  const character = String.fromCharCode(byte)
  if (/[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(character)) CLASSES[byte]! |= TOKEN_CHARACTER
  if (byte === TAB || (byte >= SPACE && byte !== 0x7f)) CLASSES[byte]! |= VALUE_CHARACTER
  if (/[!$&'()*+,\-./:;=?@_~%0-9A-Za-z]/.test(character)) CLASSES[byte]! |= URL_CHARACTER
}

export function isIn(kind: number, byte: number): boolean {
  return (CLASSES[byte]! & kind) !== 0
}

export function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB
}
