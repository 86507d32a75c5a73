import { hash } from './tokens.ts'

export const DEFAULT_DIMENSIONS = 256
export const MOST_DIMENSIONS = 4096

const GRAM = 3

/**
 * A unit vector for a text: its character trigrams and words, each hashed to one direction. Texts that share words or
 * parts of words lie near each other, which is what a demonstration of search needs, and nothing is learned or stored.
 */
export function embed(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  const padded = ` ${text.toLowerCase().replace(/\s+/g, ' ').trim()} `
  for (let at = 0; at + GRAM <= padded.length; at += 1) add(vector, hash(padded, at, at + GRAM), 1)
  for (const word of padded.trim().split(' ')) add(vector, hash(`\0${word}`), 2)
  let squares = 0
  for (const value of vector) squares += value * value
  // Opposite signs may cancel out in few dimensions; a unit vector is promised all the same.
  if (squares === 0) vector[hash(padded) % dimensions] = squares = 1
  const scale = 1 / Math.sqrt(squares)
  for (let index = 0; index < dimensions; index += 1) vector[index] = (vector[index] ?? 0) * scale
  return vector
}

/** The sign comes from another bit of the hash, so that unrelated texts are near zero and not all alike. */
function add(vector: Float32Array, hashed: number, weight: number): void {
  // FNV's low bits alone are too regular for short texts.
  const mixed = Math.imul(hashed ^ (hashed >>> 15), 0x2c1b3c6d) >>> 0
  const index = mixed % vector.length
  vector[index] = (vector[index] ?? 0) + (hashed & 0x10000 ? weight : -weight)
}
