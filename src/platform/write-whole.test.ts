import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync, writeSync, openSync, closeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { tempFolder } from '../../test/support/temp-folder.ts'
import { openDataFolder } from './data-folder.ts'
import { writeShort } from './write-whole.ts'

test('on a full disk a data folder opens, and a short file that is there already takes another text', (context) => {
  const folder = tempFolder()
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k,mode=0700', 'tmpfs', folder])
  if (mount.status !== 0) return context.skip()
  onTestFinished(() => void spawnSync('umount', ['-l', folder]))
  openDataFolder(folder).dispose()
  const file = join(folder, 'owner')
  writeFileSync(file, 'token-1\n')
  fill(join(folder, 'filling'))
  expect(() => writeFileSync(join(folder, 'another'), 'x')).toThrow(/ENOSPC/)
  writeShort(file, 'token-2\n')
  expect(readFileSync(file, 'utf8')).toBe('token-2\n')
  writeShort(file, 't3\n')
  expect(readFileSync(file, 'utf8')).toBe('t3\n')
  expect(() => writeShort(file, 'longer than what is there\n')).toThrow(/ENOSPC/)
  expect(readdirSync(folder)).not.toContain('owner.new')
  openDataFolder(folder).dispose()
})

function fill(path: string): void {
  const file = openSync(path, 'w')
  try {
    for (;;) writeSync(file, Buffer.alloc(4096))
  } catch {
    // It is full now.
  } finally {
    closeSync(file)
  }
}
