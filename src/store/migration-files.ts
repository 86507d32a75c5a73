import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AppError } from '../platform/errors.ts'

export interface Migration {
  version: number
  /** The file's name, such as 0001_init.sql. */
  name: string
  text: string
  checksum: string
}

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
    return { version, name, text, checksum: createHash('sha256').update(text).digest('hex') }
  })
}
