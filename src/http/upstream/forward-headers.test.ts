import fc from 'fast-check'
import { expect, test } from 'vitest'
import { instead, linesPassedOn, passOn } from './forward-headers.ts'

const name = fc.constantFrom('Host', 'accept', 'Connection', 'TE', 'X-A', 'x-b', 'Content-Length', 'Authorization')
const value = fc.constantFrom('1', 'two words', 'keep-alive', 'close', 'x-a, close', '')
const raw = fc.array(fc.tuple(name, value), { maxLength: 10 }).map((pairs) => pairs.flat())
const ours = fc.dictionary(fc.constantFrom('host', 'x-a', 'authorization'), fc.option(value, { nil: undefined }))

test('headers and their lines are the same, whatever is passed on', () => {
  fc.assert(
    fc.property(raw, ours, fc.boolean(), (headers, replaced, isLengthKnown) => {
      const passed = passOn(headers, instead(replaced))
      let lines = ''
      for (let i = 0; i < passed.length; i += 2) {
        const isSaid = isLengthKnown && passed[i]!.toLowerCase() === 'content-length'
        if (!isSaid) lines += `${passed[i]}: ${passed[i + 1]}\r\n`
      }
      expect(linesPassedOn(headers, instead(replaced), isLengthKnown)).toBe(lines)
    }),
  )
})

test('what belongs to a connection stays behind, also what only its Connection header says', () => {
  const headers = ['x-hop', '1', 'Connection', 'x-hop', 'X-Stays', '2', 'TE', 'trailers']
  expect(passOn(headers, instead({}))).toEqual(['X-Stays', '2'])
})
