import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { betweenFolders, cyclesOf, importsAmong, sourceFiles, type Import } from './rooms/graph.ts'
import { debt } from './rooms/debt.ts'
import { MAX_FILES_FLAT, MAX_README_LINES, PROGRAMS, rooms } from './rooms/rooms.ts'

/** The house: which room may import which, and through which files. What is not so yet is listed as debt, and only shrinks. */

const root = fileURLToPath(new URL('..', import.meta.url))
const files = sourceFiles('src')
const imports = importsAmong(files)
const across = imports.filter(({ from, to }) => roomOf(from) !== roomOf(to))

test('every folder of src is a room, and every room has a folder', () => {
  const found = new Set(files.filter((name) => name.split('/').length > 2).map(roomOf))
  expect([...found].toSorted()).toEqual(Object.keys(rooms).toSorted())
})

test('a room imports only the rooms that it may', () => {
  const wrong = across.filter(({ from, to }) => !mayImport(roomOf(from), to))
  expect(settle(wrong.map(textOf), debt.imports)).toEqual(paid)
})

test('a room is entered only through its doors', () => {
  const wrong = across.filter(({ to }) => !isDoor(to)).map(({ to }) => to)
  expect(settle([...new Set(wrong)], debt.entered)).toEqual(paid)
})

test('every door exists, and another room uses it', () => {
  const used = [...new Set(across.map(({ to }) => to))]
  const idle = Object.entries(rooms).flatMap(([room, { doors }]) => {
    const names = doors === 'all' ? [] : doors.map((door) => `src/${room}/${door}`)
    return names.filter((door) => !used.some((name) => name === door || `${path.posix.dirname(name)}/*` === door))
  })
  expect(idle).toEqual([])
})

test('no files import each other in a circle, types included', () => {
  expect(settle(cyclesOf(imports).map(joined), debt.fileCycles)).toEqual(paid)
})

test('no folders import each other in a circle, types included', () => {
  expect(settle(cyclesOf(betweenFolders(imports)).map(joined), debt.folderCycles)).toEqual(paid)
})

test(`no folder has more than ${MAX_FILES_FLAT} source files side by side`, () => {
  const all = ['src', ...PROGRAMS].flatMap((folder) => sourceFiles(folder))
  const flat = Map.groupBy(all, (name) => path.posix.dirname(name))
  const crowded = [...flat].filter(([, names]) => names.length > MAX_FILES_FLAT).map(([folder]) => folder)
  expect(settle(crowded, debt.crowded)).toEqual(paid)
})

test(`every room has a README of at most ${MAX_README_LINES} lines that names its doors`, () => {
  const problems = Object.entries(rooms).flatMap(([room, { doors }]) => {
    const file = path.join(root, 'src', room, 'README.md')
    if (!fs.existsSync(file)) return [`src/${room}/README.md is missing`]
    const text = fs.readFileSync(file, 'utf8')
    const long = text.trimEnd().split('\n').length > MAX_README_LINES ? [`src/${room}/README.md is too long`] : []
    const named = doors === 'all' || doors.every((door) => text.includes(door.replace('/*', '/')))
    return named ? long : [...long, `src/${room}/README.md does not name each of its doors`]
  })
  expect(problems).toEqual([])
})

interface Settled {
  /** Wrong, and no debt: mend it. */
  new: string[]
  /** Listed as debt, and right by now: strike it off the list. */
  paid: string[]
}
const paid: Settled = { new: [], paid: [] }

function settle(found: readonly string[], listed: readonly string[]): Settled {
  return {
    new: found.filter((one) => !listed.includes(one)).toSorted(),
    paid: listed.filter((one) => !found.includes(one)),
  }
}

/** The first file of all is in no room and may use every one. */
function roomOf(name: string): string {
  const parts = name.split('/')
  return parts.length > 2 ? parts[1]! : ''
}

function mayImport(from: string, to: string): boolean {
  const allowed = from === '' ? 'all' : rooms[from]?.imports
  if (allowed === 'all') return true
  return allowed?.some((room) => to.startsWith(`src/${room}/`)) === true
}

function isDoor(name: string): boolean {
  const doors = rooms[roomOf(name)]?.doors
  if (doors === 'all') return true
  const inner = name.split('/').slice(2).join('/')
  return doors?.some((door) => door === inner || door === `${path.posix.dirname(inner)}/*`) === true
}

function textOf({ from, to }: Import): string {
  return `${from} -> ${to}`
}

function joined(names: readonly string[]): string {
  return names.join(' ')
}
