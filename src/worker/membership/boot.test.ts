import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { openBoot } from './boot.ts'

const aFile = (): string => join(tempFolder(), 'boot.json')

test('a restarted worker goes on with its boot, and with numbers above all that were used', () => {
  const file = aFile()
  const first = openBoot(file, 'machine')
  expect(first.isResumed).toBe(false)
  const used = Array.from({ length: 2500 }, () => first.takeSeq())
  const second = openBoot(file, 'machine')
  expect(second).toMatchObject({ id: first.id, isResumed: true })
  expect(second.nextSeq()).toBeGreaterThan(used.at(-1)!)
  expect(second.takeSeq()).toBeGreaterThan(used.at(-1)!)
})

test.each([
  ['the machine was restarted', (file: string) => openBoot(file, 'another machine boot')],
  ['a clean slate is asked for', (file: string) => openBoot(file, 'machine', true)],
  [
    'the file is damaged',
    (file: string) => {
      writeFileSync(file, '{"boot_id":')
      return openBoot(file, 'machine')
    },
  ],
])('%s: it is another boot', (_, again) => {
  const file = aFile()
  const first = openBoot(file, 'machine')
  first.takeSeq()
  const second = again(file)
  expect(second.isResumed).toBe(false)
  expect(second.id).not.toBe(first.id)
  expect(second.nextSeq()).toBe(1)
})

test('after an orderly end it is another boot', () => {
  const file = aFile()
  const first = openBoot(file, 'machine')
  first.takeSeq()
  first.end()
  expect(openBoot(file, 'machine').id).not.toBe(first.id)
})

test('a disk that takes nothing does not stop the count', () => {
  const boot = openBoot('/dev/null/boot.json', 'machine')
  expect([boot.takeSeq(), boot.takeSeq(), boot.nextSeq()]).toEqual([1, 2, 3])
})
