import type { Selector } from '../types.ts'

/** What a selector asks for and what a node has instead. */
export interface Mismatch {
  needed: string
  available: string
}

/** The first part of a selector that the labels of a node do not meet; undefined when they meet all of it. */
export function mismatchOf(selector: Selector, labels: Readonly<Record<string, string>>): Mismatch | undefined {
  for (const [key, wanted] of Object.entries(selector)) {
    const label = labelOf(key)
    // Not by `in`: every object has a `constructor`, and that is no label.
    const has = Object.hasOwn(labels, label) ? labels[label] : undefined
    if (meets(has, key, wanted)) continue
    return { needed: neededText(key, wanted), available: has === undefined ? `no label ${label}` : `${label}=${has}` }
  }
  return undefined
}

/** The label that a key of a selector is about. */
export function labelOf(key: string): string {
  return isAbsence(key) ? key.slice(1) : key
}

/** `!key`: the node must not have the label, whatever its value. */
export function isAbsence(key: string): boolean {
  return key.startsWith('!')
}

/** `!value`: anything but that. A label's value that really begins with "!" can therefore not be asked for. */
export function isNegated(value: string): boolean {
  return value.startsWith('!')
}

function meets(has: string | undefined, key: string, wanted: string | readonly string[]): boolean {
  if (isAbsence(key)) return has === undefined
  if (typeof wanted !== 'string') return has !== undefined && wanted.includes(has)
  return isNegated(wanted) ? has !== wanted.slice(1) : has === wanted
}

function neededText(key: string, wanted: string | readonly string[]): string {
  if (isAbsence(key)) return `no label ${labelOf(key)}`
  if (typeof wanted !== 'string') return `${key} in ${wanted.join(', ')}`
  return isNegated(wanted) ? `${key} is not ${wanted.slice(1)}` : `${key}=${wanted}`
}
