import { accessSync, constants, statSync } from 'node:fs'
import { basename, delimiter, isAbsolute, join } from 'node:path'
import type { EngineProfile } from '../../api/engine-profile.ts'

/** Folders in which archives put their programs. */
const FOLDERS_WITHIN = ['', 'bin', 'build/bin']

/** The program as the profile names it: a name to look for, or an absolute path. */
export function programOf(profile: EngineProfile): string {
  return profile.program ?? profile.command[0]
}

/** The program in an installed engine's folder; undefined when it is missing or not executable. */
export function findInFolder(program: string, folder: string): string | undefined {
  return candidatesIn(program, folder).find(isExecutable)
}

/** The same, executable or not: archives made on other systems lose the executable bit. */
export function findFileInFolder(program: string, folder: string): string | undefined {
  return candidatesIn(program, folder).find(isFile)
}

/** The program on this machine: its absolute path, or the first of that name in PATH. */
export function findOnMachine(program: string, path: string | undefined): string | undefined {
  if (isAbsolute(program)) return isExecutable(program) ? program : undefined
  // Like a shell: a name with a slash is a path. There is no folder to which a relative one could refer.
  if (program.includes('/')) return undefined
  // A relative folder in PATH would depend on the folder in which the worker was started.
  const folders = (path ?? '').split(delimiter).filter(isAbsolute)
  return folders.map((folder) => join(folder, program)).find(isExecutable)
}

function candidatesIn(program: string, folder: string): string[] {
  if (program.includes('/') && !isAbsolute(program)) return [join(folder, program)]
  return FOLDERS_WITHIN.map((within) => join(folder, within, basename(program)))
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return isFile(file)
  } catch {
    return false
  }
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false
}
