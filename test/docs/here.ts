import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { freePort } from '../support/http/free-port.ts'
import { projectFolder } from '../../src/platform/version.ts'
import { Machine } from './machine.ts'

export interface Ground {
  machines: { first: Machine; second: Machine }
  stop(): Promise<void>
}

/**
 * Two machines in a folder, each with a home of its own and a `./flotilla` in front of this copy of the program. `npm start`
 * is what it is in the repository, without npm; `scp first:…` takes from the first home.
 */
export async function twoMachines(
  root: string,
  path: readonly string[] = [],
  more: Record<string, string> = {},
): Promise<Ground> {
  const bin = join(root, 'bin')
  mkdirSync(bin)
  const script = (file: string, text: string): void => {
    writeFileSync(file, `#!/bin/sh\n${text}\n`)
    chmodSync(file, 0o755)
  }
  const main = join(projectFolder, 'src/main.ts')
  script(join(bin, 'flotilla'), `exec "${process.execPath}" --disable-warning=ExperimentalWarning "${main}" "$@"`)
  script(join(bin, 'npm'), `[ "$1" = start ]; shift; [ "\${1:-}" != -- ] || shift; exec flotilla up "$@"`)
  script(join(bin, 'scp'), `exec cp "${root}/first/\${1#first:}" "$2"`)
  const address = `127.0.0.1:${await freePort()}`
  const env = {
    PATH: [bin, ...path, process.env['PATH']].join(delimiter),
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    ...more,
  }
  const [first, second] = ['first', 'second'].map((name) => {
    const folder = join(root, `work-${name}`)
    mkdirSync(folder)
    symlinkSync(join(bin, 'flotilla'), join(folder, 'flotilla'))
    return new Machine({ name, folder, home: join(root, name), address, env })
  }) as [Machine, Machine]
  second.knows(first)
  return {
    machines: { first, second },
    async stop() {
      await second.stop()
      await first.stop()
    },
  }
}
