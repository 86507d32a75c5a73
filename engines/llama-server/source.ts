import { createHash } from 'node:crypto'
import { createReadStream, globSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { LIBRARY_VERSION } from '../llama/install/pinned-packages.ts'
import { BuildError } from './build-error.ts'
import { runTool } from './run-tool.ts'
import { missingTools, type Tools } from './tools.ts'

/** The source of llama.cpp, as the package of node-llama-cpp carries it. */
export interface Source {
  package: string
  version: string
  /** The digest of the source file, wherever it is found. */
  sha256: string
}

export const PINNED_SOURCE: Source = {
  package: 'node-llama-cpp',
  version: LIBRARY_VERSION,
  sha256: '5f5d1105d5df040738d87b8290e5d17e7362131cdcfdb0831618e0ea528b4a51',
}

/** A git repository in one file. */
const BUNDLE = 'llama/gitRelease.bundle'

export interface FetchContext {
  /** Where to check the source out: a folder that does not exist yet. */
  checkout: string
  /** The engine's own folder. */
  folder: string
  tools: Tools
  env: NodeJS.ProcessEnv
  say: (line: string) => void
}

/** Checks the source out: from the engine `llama` when that is installed here, which needs no network, else with npm. */
export async function fetchSource(source: Source, { checkout, folder, tools, env, say }: FetchContext): Promise<void> {
  const scratch = mkdtempSync(join(folder, 'package-'))
  try {
    const bundle = (await installedBundle(source, folder)) ?? (await packedBundle(source, scratch, tools, env, say))
    say('unpacking the source')
    const quiet = ['-c', 'advice.detachedHead=false', '-c', 'core.autocrlf=false']
    await runTool({ argv: [tools.git, ...quiet, 'clone', '--quiet', bundle, checkout], folder, env })
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Engines are installed side by side: `engines/llama-server/<version>` is ours. */
async function installedBundle(source: Source, folder: string): Promise<string | undefined> {
  const engines = join(folder, '..', '..')
  const within = join('llama', '*', 'node_modules', source.package, BUNDLE)
  for (const name of globSync(within, { cwd: engines })) {
    const file = join(engines, name)
    if ((await sha256Of(file)) === source.sha256) return file
  }
  return undefined
}

async function packedBundle(
  source: Source,
  scratch: string,
  { npm, tar }: Tools,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<string> {
  if (npm === undefined || tar === undefined) throw missingTools({ npm, tar })
  const name = `${source.package}@${source.version}`
  say(`fetching ${name} with npm`)
  await runTool({ argv: [npm, 'pack', name, '--pack-destination', scratch, '--loglevel=error'], folder: scratch, env })
  const archive = readdirSync(scratch).find((file) => file.endsWith('.tgz'))
  if (archive === undefined) throw new BuildError(`npm pack ${name} ended well, but brought no archive.`)
  await runTool({ argv: [tar, '-xzf', archive, `package/${BUNDLE}`], folder: scratch, env })
  const file = join(scratch, 'package', BUNDLE)
  if ((await sha256Of(file)) === source.sha256) return file
  throw new BuildError(
    `The source in ${name} is not the one that is expected: its sha256 differs. Is the registry a good one?`,
  )
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}
