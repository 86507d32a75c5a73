import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { BuildError } from './build-error.ts'

export interface Tools {
  cmake: string
  git: string
  /** The next two are needed only if the source must be fetched. */
  tar: string | undefined
  npm: string | undefined
  /** Faster than make, if it is installed. */
  ninja: string | undefined
}

/** NVIDIA's install location, which is seldom in PATH. */
const CUDA_FOLDER = '/usr/local/cuda/bin'
/** Only there when the driver is, and a GPU with it. */
const NVIDIA_DRIVER = '/proc/driver/nvidia/version'

/** Finds the tools of a build. */
export function findTools(env: NodeJS.ProcessEnv): Tools {
  const find = (name: string): string | undefined => findInPath(name, env['PATH'])
  const [cmake, git, tar, npm, ninja] = ['cmake', 'git', 'tar', 'npm', 'ninja'].map(find)
  const compiler = [env['CXX'], 'c++', 'g++', 'clang++'].map((name) => name && find(name)).find(Boolean)
  if (cmake && git && compiler) return { cmake, git, tar, npm, ninja }
  throw missingTools({ cmake, 'C++ compiler': compiler, git })
}

/** An error that names the missing tools and how to install them; undefined if none is missing. */
export function missingTools(needed: Readonly<Record<string, string | undefined>>): BuildError {
  const missing = Object.keys(needed).filter((name) => !needed[name])
  const fix =
    'Install what is missing (Debian and Ubuntu: apt-get install cmake g++ git; macOS: xcode-select --install and cmake)'
  const other = 'or give an archive of llama.cpp with --archive and --sha256, or put llama-server into PATH'
  return new BuildError(`llama-server cannot be built here: there is no ${missing.join(', no ')}. ${fix}, ${other}.`)
}

/** NVIDIA's compiler, on a machine with such a GPU: the worker says so, or its driver is there. */
export function findCuda(env: NodeJS.ProcessEnv): string | undefined {
  if (env['FLOTILLA_GPU_VENDOR'] !== 'nvidia' && !existsSync(NVIDIA_DRIVER)) return undefined
  return findInPath('nvcc', env['PATH']) ?? findInPath('nvcc', CUDA_FOLDER)
}

function findInPath(name: string, path: string | undefined): string | undefined {
  if (isAbsolute(name)) return isExecutable(name) ? name : undefined
  const folders = (path ?? '').split(delimiter).filter(isAbsolute)
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
