import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface Locked {
  version: string
  integrity?: string
  license?: string
  dev?: boolean
  optional?: boolean
  hasInstallScript?: boolean
}

const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<string, Locked>
}
const packages = Object.entries(lock.packages).filter(([path]) => path !== '')
const nameOf = (path: string) => path.replace(/^.*node_modules\//, '')

/** May be used by, and given on with, a program under Apache-2.0. */
const GIVEN_ON = new Set([
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  '0BSD',
  'Unlicense',
])
/** Used to build and to test, and not given on: a licence that asks something of changed files is no matter there. */
const USED = new Set([...GIVEN_ON, 'MPL-2.0', 'CC0-1.0', 'Python-2.0'])

test('every package is pinned by its content', () => {
  expect(packages.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path)).toEqual([])
})

test('every licence goes with ours', () => {
  const strange = packages.filter(([, { license, dev }]) => !(dev ? USED : GIVEN_ON).has(license ?? 'none'))
  expect(strange.map(([path, { license }]) => `${nameOf(path)}: ${license}`)).toEqual([])
})

test('nothing runs when packages are installed, except what fetches Node itself', () => {
  const scripted = packages.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => nameOf(path))
  expect(scripted).toEqual(['node'])
  expect(lock.packages['node_modules/node']!.dev).toBe(true)
})

test('the list of licences names every package that is given on', () => {
  const list = readFileSync(new URL('../docs/reference/licences.md', import.meta.url), 'utf8')
  const given = packages.filter(([, { dev, optional }]) => !dev && !optional).map(([path]) => nameOf(path))
  expect(given.length).toBeGreaterThan(5)
  expect([...new Set(given)].filter((name) => !list.includes(`| \`${name}\` | `))).toEqual([])
})
