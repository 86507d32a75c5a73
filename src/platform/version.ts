import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder that holds package.json: the same for the source tree and for a build under dist/. */
export const projectFolder = findUp(dirname(fileURLToPath(import.meta.url)))

/** The program's version, from package.json alone. */
export const version = (JSON.parse(readFileSync(join(projectFolder, 'package.json'), 'utf8')) as { version: string })
  .version

function findUp(folder: string): string {
  const parent = dirname(folder)
  return existsSync(join(folder, 'package.json')) || parent === folder ? folder : findUp(parent)
}
