import type { Node } from '../types.ts'

/**
 * The paths that an engine answers on any node, where all nodes say that there are no others. Undefined where one does not
 * say: its profile lists no paths, or its worker is of the release before.
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
