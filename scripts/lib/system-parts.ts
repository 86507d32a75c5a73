import fs from 'node:fs'
import path from 'node:path'
import { canInstall, installPackages } from './apt.ts'

/** A program that the tests run against and that does not come from the npm registry. */
interface Part {
  name: string
  /** Names it goes by; any one is enough. */
  programs: readonly string[]
  debian: string
  homebrew: string
}

const systemFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/opt/homebrew/bin', '/usr/local/bin']

const parts: readonly Part[] = [
  // Asked for even if FLOTILLA_TEST_NATS_URL names a server: some tests start one with a configuration of their own.
  { name: 'nats-server', programs: ['nats-server'], debian: 'nats-server', homebrew: 'nats-server' },
  {
    name: 'Chromium',
    programs: [
      'chromium',
      'chromium-browser',
      'google-chrome',
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    ],
    debian: 'chromium',
    homebrew: '--cask chromium',
  },
  { name: 'openssl', programs: ['openssl'], debian: 'openssl', homebrew: 'openssl' },
]

const postgres: Part = {
  name: 'PostgreSQL server',
  programs: ['postgres'],
  debian: 'postgresql',
  homebrew: 'postgresql@17',
}

/** Installs what is missing where that is possible, and says what to do where it is not. Never skips a part. */
export async function ensureParts(): Promise<boolean> {
  const needed = process.env['FLOTILLA_TEST_DATABASE_URL'] ? parts : [postgres, ...parts]
  const missing = needed.filter((part) => !find(part))
  if (missing.length > 0 && canInstall()) await installPackages(missing.map((part) => part.debian))

  const stillMissing = missing.filter((part) => !find(part))
  if (stillMissing.length > 0) {
    console.log(`✗ The tests need programs that are missing: ${stillMissing.map((part) => part.name).join(', ')}`)
    console.log(`  Debian, Ubuntu: sudo apt-get install ${stillMissing.map((part) => part.debian).join(' ')}`)
    console.log(`  macOS:          brew install ${stillMissing.map((part) => part.homebrew).join(' ')}`)
    return false
  }
  // Debian puts servers where only root's PATH looks; the tests start them by name.
  process.env['PATH'] = [...pathFolders(), ...systemFolders].join(path.delimiter)
  return true
}

function find(part: Part): boolean {
  const folders = [...pathFolders(), ...systemFolders, ...(part === postgres ? postgresFolders() : [])]
  // `resolve` leaves absolute names alone, so a program may name its folder.
  return part.programs.some((program) => folders.some((folder) => fs.existsSync(path.resolve(folder, program))))
}

function pathFolders(): string[] {
  return (process.env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '')
}

function postgresFolders(): string[] {
  return fs.globSync([
    '/usr/lib/postgresql/*/bin',
    '/opt/homebrew/opt/postgresql@*/bin',
    '/usr/local/opt/postgresql@*/bin',
  ])
}
