import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { boundedRecord, longBounds, longList, longRecord } from '../bounds.ts'
import { subjects, type SubjectName } from './subjects.ts'

const names = Object.keys(subjects) as SubjectName[]

describe('every text, list and record of a message has a bound', () => {
  test.each(names)('%s', (name) => {
    const subject = subjects[name]
    const reply = subject.kind === 'request' ? unbounded(subject.reply, 'reply') : []
    expect([...unbounded(subject.message, 'message'), ...reply]).toEqual([])
  })

  test('a schema without one is found, wherever it is', () => {
    const found = (schema: z.ZodType): string[] => unbounded(schema, 'x')
    expect(found(z.string())).toEqual(['x: a text'])
    expect(found(z.string().startsWith('/').nullable().optional())).toEqual(['x: a text'])
    expect(found(z.array(z.int()))).toEqual(['x: a list'])
    expect(found(z.array(z.string()).max(3))).toEqual(['x[]: a text'])
    expect(found(z.object({ a: z.union([z.int(), z.string()]).default(1) }))).toEqual(['x.a: a text'])
    expect(found(z.record(z.string().max(1), z.int()))).toEqual(['x: a record'])
    expect(found(boundedRecord(z.string(), z.string().max(1), 2))).toEqual(['x{}: a text'])
    expect(found(longList(z.string(), 2).optional())).toEqual(['x[]: a text'])
    expect(found(longRecord(z.string(), 2))).toEqual(['x[]: a text'])
    expect(found(z.looseObject({}))).toEqual(['x: other fields'])
    expect(found(z.unknown())).toEqual(['x: unknown'])
    expect(found(z.tuple([z.string().max(2)], z.string().max(2)))).toEqual(['x: a list'])
  })
})

test('a record over its bound is refused', () => {
  const schema = boundedRecord(z.string().max(9), z.int(), 2)
  expect(schema.safeParse({ a: 1, b: 2 }).success).toBe(true)
  expect(schema.safeParse({ a: 1, b: 2, c: 3 }).success).toBe(false)
})

describe('a long list or record is read up to its first mistake', () => {
  const list = longList(z.object({ a: z.int() }), 3)
  const record = longRecord(z.int(), 2)

  test('which is named', () => {
    const { issues } = list.safeParse([{ a: 1 }, { a: 'x' }, {}]).error!
    expect(issues.map(({ path }) => path)).toEqual([[1, 'a']])
    expect(record.safeParse({ b: 'x', c: 'y' }).error!.issues.map(({ path }) => path)).toEqual([['b']])
  })

  test('and is refused over its bound, or as another thing', () => {
    expect(list.parse([{ a: 1, b: 2 }])).toEqual([{ a: 1 }])
    for (const other of [[{}, {}, {}, {}], {}, 'x', null, undefined]) expect(list.safeParse(other).success).toBe(false)
    expect(record.parse({ b: 1 })).toEqual({ b: 1 })
    for (const other of [{ a: 1, b: 2, c: 3 }, [], 'x', null]) expect(record.safeParse(other).success).toBe(false)
    expect(record.safeParse({ ['x'.repeat(1001)]: 1 }).success).toBe(false)
  })
})

/** What of a schema has no bound, by its path. A kind of schema that is not known here counts as unbounded. */
function unbounded(schema: z.core.$ZodType, path: string): string[] {
  const long = longBounds.get(schema)
  if (long) return long.parts.flatMap((part) => unbounded(part, `${path}[]`))
  const { def } = (schema as z.core.$ZodTypes)._zod
  const isBounded = (def.checks ?? []).some((one) => ['max_length', 'length_equals'].includes(one._zod.def.check))
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- what is not named here has no bound
  switch (def.type) {
    case 'boolean':
    case 'number':
    case 'null':
    case 'undefined':
    case 'enum':
    case 'literal':
      return []
    case 'string':
      return isBounded ? [] : [`${path}: a text`]
    case 'array':
      return [...(isBounded ? [] : [`${path}: a list`]), ...unbounded(def.element, `${path}[]`)]
    case 'tuple':
      return [
        ...(def.rest ? [`${path}: a list`] : []),
        ...def.items.flatMap((one, i) => unbounded(one, `${path}[${i}]`)),
      ]
    case 'record': {
      const most = z.globalRegistry.get(schema)?.['maxProperties']
      const own = typeof most === 'number' ? [] : [`${path}: a record`]
      return [...own, ...unbounded(def.keyType, `${path}{}`), ...unbounded(def.valueType, `${path}{}`)]
    }
    case 'object': {
      const own = def.catchall && def.catchall._zod.def.type !== 'never' ? [`${path}: other fields`] : []
      const fields = Object.entries(def.shape).flatMap(([name, field]) => unbounded(field, `${path}.${name}`))
      return [...own, ...fields]
    }
    case 'union':
      return def.options.flatMap((one) => unbounded(one, path))
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
      return unbounded(def.innerType, path)
    default:
      return [`${path}: ${def.type}`]
  }
}
