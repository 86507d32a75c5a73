import { copyFileSync, existsSync, mkdirSync, renameSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'

/** An earlier build for this kind of machine, if it still exists. */
export function cachedBuild(kind: string, env: NodeJS.ProcessEnv): string | undefined {
  const file = fileOf(kind, env)
  return file !== undefined && existsSync(file) ? file : undefined
}

/** A home folder may be shared by machines of different kinds. An unwritable cache is not an error. */
export function keepBuild(kind: string, env: NodeJS.ProcessEnv, program: string): void {
  const file = fileOf(kind, env)
  if (file === undefined) return
  try {
    mkdirSync(join(file, '..'), { recursive: true })
    const half = `${file}.${process.pid}.new`
    copyFileSync(program, half)
    renameSync(half, file)
  } catch {
    // The next installation builds again.
  }
}

function fileOf(kind: string, env: NodeJS.ProcessEnv): string | undefined {
  const { XDG_CACHE_HOME: cache, HOME: home } = env
  const base = cache !== undefined && isAbsolute(cache) ? cache : home && join(home, '.cache')
  return base ? join(base, 'flotilla', 'llama-server', kind, 'llama-server') : undefined
}
