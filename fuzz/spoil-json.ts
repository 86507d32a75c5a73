import fc from 'fast-check'
import { spoiled } from './spoil.ts'

/** JSON whose shape was right until some of its values, or of its keys, became something else; and spoiled texts of it. */
export function spoiledJson(samples: readonly unknown[]): fc.Arbitrary<Buffer> {
  const texts = samples.map((one) => JSON.stringify(one))
  const change = fc.tuple(fc.nat(1_000_000), fc.constantFrom(...ODD_VALUES))
  const reshaped = fc
    .tuple(fc.constantFrom(...texts), fc.array(change, { minLength: 1, maxLength: 4 }))
    .map(([text, changes]) => Buffer.from(changes.reduce((now, [at, value]) => withValue(now, at, value), text)))
  return fc.oneof({ weight: 3, arbitrary: reshaped }, { weight: 2, arbitrary: spoiled(texts, ['"', '":', ',', '\\u']) })
}

/** As they are written, since some can be written and not held. */
const ODD_VALUES = [
  'null',
  'true',
  '""',
  '"x"',
  '"\\u0000"',
  '"\\ud800"',
  '"__proto__"',
  '"../../etc/passwd"',
  '"a\\nb"',
  `"${'x'.repeat(3000)}"`,
  '0',
  '-1',
  '1.5',
  '1e400',
  '4294967295',
  '9007199254740993',
  '[]',
  '[null]',
  '{}',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  `${'['.repeat(300)}${']'.repeat(300)}`,
]

/** Puts a value in the place of one of those in the text, a whole object or list among them. */
function withValue(text: string, place: number, value: string): string {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return text
  }
  const count = countValues(parsed)
  return write(parsed, { left: place % count, value })
}

function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return 1 + Object.values(value).reduce((sum: number, one: unknown) => sum + countValues(one), 0)
}

interface Change {
  left: number
  value: string
}

function write(value: unknown, change: Change): string {
  const isHere = change.left === 0
  change.left -= 1
  if (isHere) return change.value
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map((one: unknown) => write(one, change)).join(',')}]`
  return `{${Object.entries(value)
    .map(([key, one]) => `${JSON.stringify(key)}:${write(one, change)}`)
    .join(',')}}`
}
