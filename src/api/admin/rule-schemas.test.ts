import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ruleInput } from './rule-schemas.ts'

const rule = (fields: object) => ruleInput.safeParse({ model_name: 'm', ...fields })
const problemsOf = (fields: object) => rule(fields).error?.issues.map(({ path, message }) => [...path, message]) ?? []

test('without anything it lets a model run anywhere, on request', () => {
  expect(rule({}).data).toEqual({
    model_name: 'm',
    node_selector: {},
    min_replicas: 0,
    max_replicas: 0,
    spread_all: false,
    scale_to_zero_after_s: null,
    route_policy: 'least_loaded',
  })
})

describe('one replica on every node', () => {
  test.each([
    [{ spread_all: true }, true],
    [{ replicas: 'all' }, true],
    [{ replicas: ' ALL ' }, true],
    [{ replicas: true }, true],
    [{ spread_all: true, replicas: 'all' }, true],
    [{ spread_all: true, replicas: 'auto' }, true],
    [{ spread_all: true, min_replicas: 0, max_replicas: 0 }, true],
    [{ replicas: 'auto' }, false],
    [{ replicas: 'Auto', min_replicas: 2 }, false],
    [{ replicas: '' }, false],
    [{ replicas: false }, false],
    [{ replicas: null }, false],
    [{ spread_all: false }, false],
  ])('%j', (fields, spread) => {
    const { data } = rule(fields)
    expect(data).toMatchObject({ spread_all: spread })
    expect(data).not.toHaveProperty('replicas')
  })
})

describe('what cannot be is refused by its field', () => {
  const exclusive = 'is mutually exclusive with min_replicas and max_replicas: leave those out'

  test.each<[object, string, string]>([
    [{ model_name: '' }, 'model_name', 'must not be empty'],
    [{ min_replicas: -1 }, 'min_replicas', 'must be at least 0'],
    [{ max_replicas: 1.5 }, 'max_replicas', 'must be a whole number'],
    [{ min_replicas: '2' }, 'min_replicas', 'must be a whole number'],
    [{ min_replicas: 10_001 }, 'min_replicas', 'must be at most 10000'],
    [{ min_replicas: 3, max_replicas: 2 }, 'max_replicas', 'must be 0 (no cap) or at least min_replicas'],
    [{ spread_all: true, min_replicas: 1 }, 'spread_all', exclusive],
    [{ spread_all: true, max_replicas: 1 }, 'spread_all', exclusive],
    [{ replicas: 'all', min_replicas: 1, max_replicas: 1 }, 'replicas', exclusive],
    [{ replicas: 'all', spread_all: false }, 'replicas', '"all" contradicts spread_all: false'],
    [{ replicas: 3 }, 'replicas', 'min_replicas'],
    [{ replicas: 'some' }, 'replicas', 'expected "all" (one on every node that matches) or "auto"'],
    [{ spread_all: 'yes' }, 'spread_all', 'must be true or false'],
    [{ scale_to_zero_after_s: 9 }, 'scale_to_zero_after_s', 'must be at least 10'],
    [{ scale_to_zero_after_s: '30m' }, 'scale_to_zero_after_s', 'whole number of seconds'],
    [{ scale_to_zero_after_s: 60, min_replicas: 1 }, 'scale_to_zero_after_s', 'contradicts min_replicas'],
    [{ scale_to_zero_after_s: 60, replicas: 'all' }, 'scale_to_zero_after_s', 'one replica on every node'],
    [{ route_policy: 'prefix' }, 'route_policy', 'expected one of least_loaded, round_robin, session'],
    [{ node_selector: { '!spot': 'x' } }, 'node_selector', '!spot'],
  ])('%j', (fields, field, message) => {
    const [first] = problemsOf(fields)
    expect(first?.[0]).toBe(field)
    expect(first?.join(' ')).toContain(message)
  })

  test('an unknown setting', () => {
    expect(problemsOf({ min_replica: 1 })).toEqual([['Unrecognized key: "min_replica"']])
  })
})

test('what has been read may be sent again, and means the same', () => {
  const { data } = rule({ replicas: 'all', node_selector: { zone: ['a', 'b'] }, route_policy: '' })
  expect(ruleInput.parse(data)).toEqual(data)
})

test('it can be described', () => {
  expect(z.toJSONSchema(ruleInput, { io: 'input' })).toMatchObject({ required: ['model_name'] })
})
