import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseDocument } from 'yaml'
import { tempFolder } from '../../test/support/temp-folder.ts'
import { fileProblem } from './file-problem.ts'
import { yamlProblem } from './yaml-problem.ts'

test.each<[string, (folder: string) => unknown, string]>([
  ['a missing file', (folder) => readFileSync(`${folder}/none`), 'there is no such file or folder'],
  ['a folder', (folder) => readFileSync(folder), 'it is a folder, and a file is needed'],
  [
    'a file as a folder',
    (folder) => (writeFileSync(`${folder}/x`, ''), readFileSync(`${folder}/x/y`)),
    'a part of the path is a file, and a folder is needed',
  ],
  ['a full disk', () => writeFileSync('/dev/full', 'x'), 'the disk is full'],
])('%s is told in words', (_, act, words) => {
  const folder = tempFolder()
  expect(thrownBy(() => act(folder))).toBe(words)
})

test('what has no words of ours loses the system call and the path', () => {
  const stale = Object.assign(new Error("ESTALE: stale file handle, open '/secret/x'"), { code: 'ESTALE' })
  expect(fileProblem(stale)).toBe('stale file handle (ESTALE)')
  expect([fileProblem(new Error('It is broken.')), fileProblem('odd'), fileProblem(undefined)]).toEqual([
    'It is broken',
    'odd',
    'undefined',
  ])
})

test.each([
  ['a: b: c', 'a second ": "'],
  ['a: [1', 'a comma or a closing bracket is missing'],
  ['a: "x', 'quotation mark'],
  ['a: 1\na: 2', 'given twice'],
  ['a:\n\t- b', 'not with tabs'],
  ['a: @x', 'must be in quotes'],
  ['a: 1\nb', 'followed by ": "'],
  ['a: *none', 'quotes'],
  ['- a\nb: 1', ''],
])('what is wrong with %j is told without words of the parser', (text, words) => {
  const [error] = parseDocument(text, { prettyErrors: false }).errors
  const said = error ? yamlProblem(error) : words
  expect(said).toContain(words)
  expect(said).not.toMatch(/compact|implicit|collection|scalar|mapping|token|cannot be read/i)
})

function thrownBy(act: () => unknown): string {
  try {
    act()
    return 'nothing'
  } catch (error) {
    return fileProblem(error)
  }
}
