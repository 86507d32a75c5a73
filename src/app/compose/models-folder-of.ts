import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config } from '../../cli/config/options.ts'
import type { DataFolder } from '../../platform/data-folder.ts'
import { AppError } from '../../platform/errors.ts'

/** The folder of `frontend:` sources: the served folder, if there is one, else one below the data folder. */
export function modelsFolderOf(config: Config, folder: DataFolder): string {
  return servedFolderOf(config) ?? folder.file('models')
}

/** The folder whose GGUF files are served. A missing one is reported at the start. */
export function servedFolderOf({ models_dir: given }: Pick<Config, 'models_dir'>): string | undefined {
  if (given === undefined) return undefined
  const path = resolve(given)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path
  throw new AppError('usage', `--models-dir: there is no folder ${path}. Make it, or name another.`)
}
