import { PINNED_PACKAGES } from './pinned-packages.ts'

const BUILDS = '@node-llama-cpp/'

interface LockEntry {
  version: string
  integrity?: string
  dependencies: Record<string, string>
}

/** What npm needs to install exactly the pinned packages: the texts of package.json and package-lock.json. */
export function lockFile(builds: readonly string[]): { manifest: string; lock: string; count: number } {
  const packages: Record<string, LockEntry> = {}
  for (const line of PINNED_PACKAGES.trim().split('\n')) {
    const [path = '', version = '', integrity = '', ...needs] = line.split(' ')
    if (path.startsWith(BUILDS) && !builds.includes(path.slice(BUILDS.length))) continue
    packages[`node_modules/${path}`] = { version, integrity, dependencies: toDependencies(needs) }
  }
  const wanted = ['node-llama-cpp', '@huggingface/jinja', ...builds.map((build) => `${BUILDS}${build}`)]
  const dependencies = Object.fromEntries(
    wanted.map((name) => {
      const pinned = packages[`node_modules/${name}`]
      if (!pinned) throw new Error(`${name} is not among the pinned packages`)
      return [name, pinned.version]
    }),
  )
  const head = { name: 'flotilla-engine-llama', version: '1.0.0' }
  return {
    manifest: JSON.stringify({ ...head, private: true, dependencies }, null, 2),
    lock: JSON.stringify({
      ...head,
      lockfileVersion: 3,
      requires: true,
      packages: { '': { ...head, dependencies }, ...packages },
    }),
    count: Object.keys(packages).length,
  }
}

/** `name@range`; a scope's own @ comes first. */
function toDependencies(needs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    needs.map((need) => {
      const at = need.lastIndexOf('@')
      return [need.slice(0, at), need.slice(at + 1)]
    }),
  )
}
