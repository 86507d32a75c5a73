import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { LIBRARY_FILE } from '../../../engines/llama/install/install-library.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const installer = fileURLToPath(new URL('../../../engines/llama/install/main.ts', import.meta.url))

/** The small model in the repository. */
export const skipper = join(root, 'models/skipper/skipper.gguf')

/**
 * The folder of an installation of the engine `llama` that all tests share. It is made by the engine's own installer when
 * it is missing, once (85 MB from the npm registry), and kept in node_modules between runs. A worker that has this folder
 * in its PATH has the engine.
 */
export async function llamaEngine(): Promise<string> {
  const cache = join(root, 'node_modules/.cache/flotilla-engines')
  const folder = join(cache, LIBRARY_FILE.replace('.mjs', ''))
  if (existsSync(join(folder, LIBRARY_FILE))) return folder
  // Test files run side by side: each makes its own, and the first to be done is kept.
  const making = join(cache, `.making-${process.pid}`)
  mkdirSync(making, { recursive: true })
  try {
    await promisify(execFile)(process.execPath, [installer], {
      env: { ...process.env, FLOTILLA_ENGINE_FOLDER: making },
    })
    renameSync(making, folder)
  } catch (error) {
    if (!existsSync(join(folder, LIBRARY_FILE))) throw error
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
  return folder
}

/** For `--library` of the engine. */
export async function llamaLibrary(): Promise<string> {
  return join(await llamaEngine(), LIBRARY_FILE)
}
