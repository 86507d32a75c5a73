import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempFolder } from '../../test/support/temp-folder.ts'
import { checkRoomForModel } from './room.ts'

test('all parts of a split model count, and one that is missing does not', () => {
  const folder = tempFolder()
  for (const part of [1, 3]) writeFileSync(join(folder, `m-0000${part}-of-00003.gguf`), 'x'.repeat(100))
  const first = join(folder, 'm-00001-of-00003.gguf')
  expect(() => checkRoomForModel(first, 200)).not.toThrow()
  expect(() => checkRoomForModel(first, 199)).toThrow(/^out of memory: .*00003.gguf has 1 MiB, and 1 MiB are free/)
})
