import type { Node } from '../types.ts'

/**
 * The paths that an engine answers, of all nodes together, where all of them say that there are no others. Undefined where
 * that is not known: of engines of others, of a profile that does not say, of a node of the release before.
 */
export function servedPaths(engineName: string, nodes: readonly Node[]): string[] | undefined {
  const paths = new Set<string>()
  for (const { engines } of nodes) {
    const engine = engines[engineName]
    if (!engine) continue
    if (!engine.serves) return undefined
    for (const path of engine.serves) paths.add(path)
  }
  return paths.size === 0 ? undefined : [...paths].toSorted()
}
