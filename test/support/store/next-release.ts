import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SPOKEN } from '../../../src/platform/peer-versions.ts'
import { projectFolder } from '../../../src/platform/version.ts'
import { findMigrations, loadMigrations } from '../../../src/store/migrate/migration-files.ts'
import { tempFolder } from '../temp-folder.ts'

/**
 * The program as its next release may be: it speaks one protocol more, its registration, heartbeats and routing tables have
 * fields that this one does not know, and it has added to the schema. Returns its main file.
 */
export function nextRelease(): string {
  const folder = tempFolder()
  for (const name of readdirSync(projectFolder)) {
    const from = join(projectFolder, name)
    if (COPIED.has(name)) cpSync(from, join(folder, name), { recursive: true })
    else symlinkSync(from, join(folder, name))
  }
  const edit = (file: string, from: string, to: string): void => {
    const path = join(folder, file)
    const text = readFileSync(path, 'utf8')
    if (!text.includes(from)) throw new Error(`${file} no longer has: ${from}`)
    writeFileSync(path, text.replace(from, to))
  }
  const { oldest, newest } = SPOKEN
  edit('package.json', '"version": "', '"version": "99.')
  edit(
    'src/platform/peer-versions.ts',
    `{ oldest: ${oldest}, newest: ${newest} }`,
    `{ oldest: ${newest}, newest: ${newest + 1} }`,
  )
  edit('src/worker/membership/frontends.ts', '{ ...facts, protocol }', `{ ...facts, protocol, ${inNewProtocol} }`)
  edit('src/api/admin/schemas.ts', 'boot_id: z.string().min(1)', 'colour: z.string().optional(), boot_id: z.string()')
  edit('src/worker/report/heartbeats.ts', 'boot_id: boot.id', "colour: 'new', boot_id: boot.id")
  edit('src/control/leader/turns.ts', "bus.publish('routingDelta', ", "bus.publish('routingDelta', withColour(")
  edit('src/control/leader/turns.ts', '...keys]))', '...keys])))')
  edit('src/control/leader/turns.ts', 'function namesOf', `${WITH_COLOUR}\nfunction namesOf`)
  const known = loadMigrations(findMigrations()).length
  writeFileSync(join(folder, 'migrations', `${fourDigits(known + 1)}_colours.sql`), migration(known))
  return join(folder, 'src', 'main.ts')
}

const COPIED = new Set(['src', 'migrations', 'package.json'])
const inNewProtocol = `...(protocol > ${SPOKEN.newest} ? { colour: 'new' } : {})`
const WITH_COLOUR = `const withColour = (delta: object) => ({ ...delta, colour: 'new' })\n`

function migration(known: number): string {
  const added = ['nodes', 'models', 'rules', 'replicas'].map((table) => `alter table ${table} add column colour text;`)
  return [`-- works from: ${fourDigits(known)}`, ...added, 'create table colours (name text primary key);'].join('\n')
}

function fourDigits(version: number): string {
  return String(version).padStart(4, '0')
}
