/** The part of DER that a certificate needs. Each function returns one whole element. */

export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return element(0x30, ...parts)
}

export function set(...parts: readonly Uint8Array[]): Buffer {
  return element(0x31, ...parts)
}

/** A non-negative number, by its bytes. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0)
  const least = first === -1 ? Buffer.of(0) : bytes.subarray(first)
  // A set first bit would make it negative.
  return element(0x02, least[0]! >= 0x80 ? Buffer.of(0) : Buffer.alloc(0), least)
}

export function boolean(value: boolean): Buffer {
  return element(0x01, Buffer.of(value ? 0xff : 0))
}

export function objectId(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  return element(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

export function octetString(bytes: Uint8Array): Buffer {
  return element(0x04, bytes)
}

/** `unused` is the number of unused bits at the end. */
export function bitString(bytes: Uint8Array, unused = 0): Buffer {
  return element(0x03, Buffer.of(unused), bytes)
}

export function utf8String(text: string): Buffer {
  return element(0x0c, Buffer.from(text))
}

/** In a certificate's format: two digits for the year before 2050, four from then on. */
export function time(ms: number): Buffer {
  const text = `${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`
  return text < '2050' ? element(0x17, Buffer.from(text.slice(2))) : element(0x18, Buffer.from(text))
}

/** `[n]`: around whole elements, or in the place of an element's own tag. */
export function tagged(n: number, kind: 'around' | 'instead', ...parts: readonly Uint8Array[]): Buffer {
  return element((kind === 'around' ? 0xa0 : 0x80) + n, ...parts)
}

function element(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.of(tag), lengthOf(content.length), content])
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length)
  if (length < 0x100) return Buffer.of(0x81, length)
  return Buffer.of(0x82, length >> 8, length & 0xff)
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f]
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80)
  return bytes
}
