import { expect, test } from 'vitest'
import { engineLimits, userAndGroup } from './engine-limit-types.ts'
import { hostsAndRanges } from './option-types.ts'

test('limits of engines are read from text and from a map', () => {
  const limits = { memoryBytes: 32 * 2 ** 30, files: 4096, processes: 512, nice: 5 }
  expect(engineLimits.parse(' memory=32GiB, files=4096,processes=512,nice=5,')).toEqual(limits)
  expect(engineLimits.parse({ memory: '32GiB', files: 4096, processes: 512, nice: 5 })).toEqual(limits)
  expect(engineLimits.parse('')).toEqual({})
})

test.each(['memory=1', 'memory', 'files=many', 'files=1', 'nice=20', 'nice=-5', 'cpu=1', 'constructor=1', 5])(
  '%s is no limit',
  (text) => expect(engineLimits.safeParse(text).success).toBe(false),
)

test('users are names, and nothing that a program could take for an option', () => {
  for (const right of ['nobody', 'engines:render', '_svc.a-1']) expect(userAndGroup.parse(right)).toBe(right)
  for (const wrong of ['', '-x', 'a b', 'a:', ':a', 'a;id', 'a:b:c', '--reuid=0']) {
    expect(userAndGroup.safeParse(wrong).success, wrong).toBe(false)
  }
})

test('hosts to fetch from are names, addresses and ranges', () => {
  expect(hostsAndRanges.parse('nas.lan, 192.168.0.0/16,::1,fd00::/8,any')).toEqual([
    'nas.lan',
    '192.168.0.0/16',
    '::1',
    'fd00::/8',
    'any',
  ])
  expect(hostsAndRanges.parse('')).toEqual([])
  for (const wrong of ['http://nas', 'a b', '10.0.0.0/33', 'fd00::/129', '10.0.0.0/', '*.lan']) {
    expect(hostsAndRanges.safeParse(wrong).success, wrong).toBe(false)
  }
})
