import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..')

/** What ran: `commit 1a2b3c4d5e6f`, with a word when files have been changed since; or the version where there is no git. */
export function commitText(): string {
  try {
    const changes = git('status', '--porcelain', '--untracked-files=no')
    return `commit ${git('rev-parse', '--short=12', 'HEAD')}${changes ? ' with changes' : ''}`
  } catch {
    const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string }
    return `version ${version}`
  }
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}
