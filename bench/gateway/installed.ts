import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const INSTALL_WITHIN_MS = 90_000

/** A file of a package that is no dependency of the project: it is fetched for the run, when somebody asks for it. */
export async function installed(
  name: string,
  file: string,
  folder: string,
  isWanted: boolean,
): Promise<{ path: string } | { why: string }> {
  if (!isWanted) return { why: `not measured: needs --with-${name === 'undici' ? 'undici' : 'portkey'}` }
  // A folder for each: what is installed later into the same one could take away what another needs.
  const prefix = join(folder, name.replace('/', '-'))
  try {
    const args = ['install', name, '--prefix', prefix, '--no-audit', '--no-fund', '--ignore-scripts']
    await promisify(execFile)('npm', args, { timeout: INSTALL_WITHIN_MS })
  } catch {
    return { why: `not measured: npm cannot install ${name}` }
  }
  return { path: join(prefix, 'node_modules', name, file) }
}
