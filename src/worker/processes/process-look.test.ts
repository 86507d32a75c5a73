import { spawn } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/support/until.ts'
import { lookAt, lookWithPs, parseStat } from './process-look.ts'

const TAIL = ' 1 77 66 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 123456 2605056 200 18446744073709551615'

test.for(['sh', 'a b', ') Z 1 2 3', '(((', 'two\nlines', ''])('a program may be called %j', (name) => {
  expect(parseStat(`4711 (${name}) S${TAIL}`)).toEqual({
    startedAt: '123456',
    isZombie: false,
    group: 77,
    session: 66,
  })
})

test.for(['', '4711', '4711 (sh) S 1 2'])('%j says nothing', (text) => {
  expect(parseStat(text)).toBe('unknown')
})

test.for([{ look: lookAt }, { look: lookWithPs }])(
  '$look.name: a process that runs, a zombie, and none',
  async ({ look }) => {
    // The second program takes the place of the shell and knows nothing of the child that it inherits.
    const child = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'])
    onTestFinished(() => void child.kill('SIGKILL'))
    let zombie = 0
    child.stdout.on('data', (text: Buffer) => (zombie = Number(text)))
    await until(() => zombie > 0)
    await until(() => {
      const seen = look(zombie)
      return typeof seen === 'object' && seen.isZombie
    })
    expect(look(child.pid!)).toMatchObject({ isZombie: false })
    expect(look(child.pid!)).toEqual(look(child.pid!))
    expect(look(2 ** 30)).toBe('none')
  },
)
