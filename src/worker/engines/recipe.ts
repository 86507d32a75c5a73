import { createHash } from 'node:crypto'
import { chmodSync } from 'node:fs'
import type { ProgressMessage } from '../../api/bus/messages.ts'
import type { EngineProfile } from '../../api/engine-profile.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import { engineEnvironment } from './engine-environment.ts'
import { findFileInFolder, findInFolder, findOnMachine, programOf } from './find-program.ts'
import type { Installed, InstalledEngine } from './installed.ts'
import { runCommand } from './run-command.ts'

/** How to get an engine's program: the profile's recipe, or the one in the command. */
export type Recipe = NonNullable<EngineProfile['install']>

export interface FetchHooks {
  signal: AbortSignal
  onProgress: (progress: ProgressMessage) => void
}

/** Fetches a file and checks its sha256. The file stays until it is released. */
export type FetchArchive = (
  url: string,
  sha256: string,
  hooks: FetchHooks,
) => Promise<{ path: string; release: () => void | Promise<void> }>

export interface RecipeDeps {
  installed: Installed
  fetchArchive: FetchArchive
  clock: Clock
  env: NodeJS.ProcessEnv
  /** The vendor of the machine's GPUs: some programs have one build for each. */
  gpuVendor: () => string | null
}

/** A prepared engine: nothing has changed until `commit`. */
export interface Prepared {
  commit(): Promise<void>
}

/** Equal for recipes that give the same engine. */
export function recipeId(recipe: Recipe): string {
  if ('archive' in recipe) return `archive ${recipe.archive.sha256}`
  return `command ${createHash('sha256').update(JSON.stringify(recipe.command)).digest('hex')}`
}

/** Fetches and unpacks. The running version is not touched. */
export async function prepareArchive(
  profile: EngineProfile,
  recipe: Extract<Recipe, { archive: unknown }>,
  deps: RecipeDeps,
  { signal, onProgress }: FetchHooks,
): Promise<Prepared> {
  const { installed, fetchArchive } = deps
  const { url, sha256 } = recipe.archive
  const archive = await fetchArchive(url, sha256, { signal, onProgress })
  let unpacked: string
  try {
    signal.throwIfAborted()
    // The unpackers are loaded only when they are needed: they would cost every worker some megabytes.
    const { unpack } = await import('./unpack/unpack.ts')
    unpacked = await unpack(archive.path, installed.newFolder(profile.name), {
      signal,
      onProgress: (file, doneBytes) =>
        onProgress({ file, done_bytes: doneBytes, total_bytes: null, bytes_per_s: null }),
    })
  } finally {
    await archive.release()
  }
  const program = findFileInFolder(programOf(profile), unpacked)
  if (program === undefined) {
    const where = 'neither at its top nor in bin or build/bin'
    throw new AppError('bad_request', `The archive has no program "${programOf(profile)}": ${where}.`)
  }
  chmodSync(program, 0o755)
  return {
    async commit() {
      const folder = installed.place(profile.name, unpacked, sha256)
      await installed.makeCurrent(profile.name, { version: sha256, recipe: recipeId(recipe), folder })
    },
  }
}

/** Runs the command in a new folder of the engine. It may put the program there, or anywhere in PATH. */
export async function prepareByCommand(
  profile: EngineProfile,
  recipe: Extract<Recipe, { command: unknown }>,
  deps: RecipeDeps,
  { signal, onProgress }: FetchHooks,
): Promise<Prepared> {
  const { installed, clock, env, gpuVendor } = deps
  const version = new Date(clock.nowMs()).toISOString()
  const { path: folder, name } = installed.newVersionFolder(profile.name, version)
  const onLine = (line: string): void =>
    onProgress({ file: line.slice(0, 200), done_bytes: 0, total_bytes: null, bytes_per_s: null })
  const command = {
    command: recipe.command,
    folder,
    env: engineEnvironment(env, { FLOTILLA_ENGINE_FOLDER: folder, FLOTILLA_GPU_VENDOR: gpuVendor() ?? '' }),
    clock,
    signal,
    onLine,
  }
  await runCommand(command)
  const program = programOf(profile)
  if ((findInFolder(program, folder) ?? findOnMachine(program, env['PATH'])) === undefined) {
    const where = `neither in ${folder} nor in PATH`
    throw new AppError('internal', `The command ended well, but the program "${program}" is not there: ${where}.`)
  }
  const made: InstalledEngine = { version, recipe: recipeId(recipe), folder: name }
  return { commit: () => installed.makeCurrent(profile.name, made) }
}
