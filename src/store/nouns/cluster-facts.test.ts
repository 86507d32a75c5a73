import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { agreeOn } from './cluster-facts.ts'
import { openDatabase } from '../database.ts'

test('the first proposal is what all agree on', async () => {
  const db = await openDatabase({ file: join(tempFolder(), 'flotilla.db') })
  onTestFinished(() => db.close())
  expect(await agreeOn(db, 'secret', 'mine')).toBe('mine')
  expect(await agreeOn(db, 'secret', 'yours')).toBe('mine')
  expect(await agreeOn(db, 'other', 'yours')).toBe('yours')
})
