import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { fileProblem, openFileAt } from './open-file.ts'

test('a database file that was deleted or replaced under a process is a problem that says how to save it', () => {
  const path = join(tempFolder(), 'flotilla.db')
  writeFileSync(path, 'a')
  const file = openFileAt(path)!
  expect(fileProblem(file)).toBeUndefined()
  writeFileSync(path, 'ab')
  expect(fileProblem(file)).toBeUndefined()
  writeFileSync(`${path}.other`, 'b')
  renameSync(`${path}.other`, path)
  expect(fileProblem(file)).toMatchObject({
    kind: 'store',
    severity: 'error',
    text: expect.stringContaining(`The database ${path} was replaced by another file`) as string,
    advice: expect.stringContaining('flotilla db export') as string,
  })
  rmSync(path)
  expect(fileProblem(file)!.text).toContain('was deleted')
})
