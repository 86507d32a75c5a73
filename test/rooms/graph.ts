import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** One file imports another; types count as well. */
export interface Import {
  from: string
  to: string
}

/** Code that runs: no tests, and nothing that only tests use. */
const TEST_CODE = /\.(test|e2e)\.tsx?$|-suite\.ts$|\/(testing|contract|suites|conformance)\/|\/conformance\.ts$/

export function sourceFiles(folder: string): string[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z', folder]
  const names = execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\0')
  const isThere = (name: string): boolean => fs.existsSync(path.join(root, name))
  return [...new Set(names)].filter((name) => /\.tsx?$/.test(name) && !TEST_CODE.test(name) && isThere(name))
}

/** Imports among these files, as they are written: `from './x.ts'` and `import('./x.ts')`. */
export function importsAmong(files: readonly string[]): Import[] {
  const known = new Set(files)
  return files.flatMap((from) => {
    const text = fs.readFileSync(path.join(root, from), 'utf8')
    const targets = [...text.matchAll(/(?:\bfrom|\bimport)[\s(]+'(\.[^']+)'/g)].map(([, target]) =>
      path.posix.join(path.posix.dirname(from), target!),
    )
    return [...new Set(targets)].filter((to) => known.has(to)).map((to) => ({ from, to }))
  })
}

/** Groups of nodes of which each reaches each other (Tarjan); groups of one are left out. */
export function cyclesOf(edges: readonly Import[]): string[][] {
  const after = Map.groupBy(edges, ({ from }) => from)
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const cycles: string[][] = []
  const visit = (node: string): void => {
    order.set(node, order.size)
    low.set(node, order.get(node)!)
    stack.push(node)
    for (const { to } of after.get(node) ?? []) {
      if (!order.has(to)) visit(to)
      if (stack.includes(to)) low.set(node, Math.min(low.get(node)!, low.get(to)!))
    }
    if (low.get(node) !== order.get(node)) return
    const group = stack.splice(stack.indexOf(node))
    if (group.length > 1) cycles.push(group.toSorted())
  }
  for (const node of after.keys()) if (!order.has(node)) visit(node)
  return cycles
}

/** The same between folders. */
export function betweenFolders(imports: readonly Import[]): Import[] {
  return imports
    .map(({ from, to }) => ({ from: path.posix.dirname(from), to: path.posix.dirname(to) }))
    .filter(({ from, to }) => from !== to)
}
