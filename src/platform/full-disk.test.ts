import { expect, test } from 'vitest'
import { AppError } from './errors.ts'
import { startFailure } from './full-disk.ts'

test('a start that fails for want of room names the folder, and is no mistake of the command line', () => {
  const noSpace = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  const noLock = new AppError('usage', 'Cannot lock the data folder /data: database or disk is full.')
  for (const error of [noSpace, noLock]) {
    const shown = startFailure(error, '/data') as AppError
    expect(shown).toMatchObject({ code: 'unavailable' })
    expect(shown.message).toMatch(/^The disk of \/data is full: .*Make room there and start again\.$/)
  }
  const elsewhere = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', path: '/run/ready.json' })
  expect((startFailure(elsewhere, '/data') as AppError).message).toContain('The disk of /run/ready.json is full')
})

test('another failure stays as it is', () => {
  const error = new Error('boom')
  expect(startFailure(error, '/data')).toBe(error)
})
