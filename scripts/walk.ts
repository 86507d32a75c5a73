import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { freePort } from '../test/support/http/free-port.ts'
import { Machine } from '../test/docs/machine.ts'
import { runPage } from '../test/docs/run-page.ts'
import { root } from './lib/root.ts'

/**
 * `npm run walk`: what a newcomer does, by the pages alone, in a fresh clone of what is committed: start, chat, a second
 * machine, rules, a worker that is killed, a drain, an upgrade. Takes some minutes: everything is installed anew.
 */
const PAGES = ['install', 'first-model', 'add-a-node', 'rules-and-placement', 'operate', 'upgrade']

const folder = mkdtempSync(join(tmpdir(), 'flotilla-walk-'))
const clone = join(folder, 'clone')
execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, clone])
const bin = join(folder, 'bin')
mkdirSync(bin)
// The second machine is a home folder on this one.
writeFileSync(join(bin, 'scp'), `#!/bin/sh\nexec cp "${folder}/first/\${1#first:}" "$2"\n`)
chmodSync(join(bin, 'scp'), 0o755)
const address = `127.0.0.1:${await freePort()}`
// Without the programs of this copy: a newcomer has none of them.
const others = (process.env['PATH'] ?? '').split(delimiter).filter((path) => !path.startsWith(root))
// How this machine reaches the registry: its homes are new, and what is said there is not in them.
const npmrc = process.env['NPM_CONFIG_USERCONFIG'] ?? join(homedir(), '.npmrc')
const env = { PATH: [bin, ...others].join(delimiter), NPM_CONFIG_USERCONFIG: npmrc }
const [first, second] = ['first', 'second'].map(
  (name) => new Machine({ name, folder: clone, home: join(folder, name), address, env }),
) as [Machine, Machine]
second.knows(first)
try {
  for (const page of PAGES) {
    const { run, notRun } = await runPage(join(clone, 'docs/guide', `${page}.md`), { first, second })
    console.log(`✓ docs/guide/${page}.md: ${run} blocks done, ${notRun.length} not run`)
  }
} catch (error) {
  console.error(`✗ ${(error as Error).message}`)
  process.exitCode = 1
} finally {
  await second.stop()
  await first.stop()
  rmSync(folder, { recursive: true, force: true })
}
