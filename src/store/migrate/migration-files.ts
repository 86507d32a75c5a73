import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AppError } from '../../platform/errors.ts'

export interface Migration {
  version: number
  /** The file's name, such as 0001_init.sql. */
  name: string
  text: string
  checksum: string
  /** The last migration that a program must know to work on the store after this one; null where all must know this one. */
  worksFrom: number | null
}

/**
 * The first line of a migration that leaves programs of the release before working: one that only adds. What takes away
 * (a column, a table, a value) comes a release later, when no program that needs it runs any more.
 */
const WORKS_FROM = /^-- works from: (\d{4})\n/

const FILE_NAME = /^(\d{4})_[a-z0-9_-]+\.sql$/

/** The program's own migrations: in the nearest folder above this file that has them (above src/ and above dist/ alike). */
export function findMigrations(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const migrations = join(folder, 'migrations')
    if (existsSync(migrations)) return migrations
    if (folder === dirname(folder)) {
      throw new AppError('internal', `No folder "migrations" above ${import.meta.dirname}: install Flotilla again.`)
    }
  }
}

/** All migrations in order: 1, 2, 3, … without a gap. */
export function loadMigrations(folder: string): Migration[] {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
  return names.map((name, index) => {
    const version = Number(FILE_NAME.exec(name)?.[1])
    if (version !== index + 1) {
      const wanted = String(index + 1).padStart(4, '0')
      throw new AppError('usage', `Migration ${wanted}_….sql is missing in ${folder}: ${name} comes in its place.`)
    }
    // Line ends as in the repository, whatever a checkout on Windows made of them.
    const text = readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n')
    const checksum = createHash('sha256').update(text).digest('hex')
    const worksFrom = WORKS_FROM.exec(text)?.[1]
    return { version, name, text, checksum, worksFrom: worksFrom === undefined ? null : Number(worksFrom) }
  })
}
