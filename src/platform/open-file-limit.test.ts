import { expect, test } from 'vitest'
import { lowFileLimit, openFileLimit } from './open-file-limit.ts'

const limits = (soft: string) => () =>
  `Limit                     Soft Limit           Hard Limit           Units
Max processes             31442                31442                processes
Max open files            ${soft.padEnd(20)} 1048576              files
`

test('a limit below 4,096 is told with the number and how to raise it', () => {
  expect(lowFileLimit(limits('256'))).toEqual({
    text: 'This process may open 256 files and connections; 4096 or more are recommended.',
    advice: expect.stringContaining('ulimit -n 65536') as string,
  })
})

test('a higher limit, none at all and a system that does not say are left alone', () => {
  for (const read of [limits('4096'), limits('unlimited'), () => '']) expect(lowFileLimit(read)).toBeUndefined()
})

test('the limit of this process is read', () => {
  expect(openFileLimit() ?? Infinity).toBeGreaterThan(0)
})
