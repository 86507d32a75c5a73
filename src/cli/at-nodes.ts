import type { NodeView } from '../api/admin/schemas.ts'
import { AppError } from '../platform/errors.ts'
import type { Client } from './client.ts'
import { plain } from './terminal/text-width.ts'

/** The answer of one node, or its error. */
export type AtNode<T> =
  | { node: NodeView; reply: T; error?: undefined }
  | { node: NodeView; reply?: undefined; error: AppError }

const MOST_AT_ONCE = 8

/** Asks several nodes, a few at a time. Results are in the nodes' order; one failure does not affect the others. */
export async function atNodes<T>(
  nodes: readonly NodeView[],
  ask: (node: NodeView) => Promise<T>,
): Promise<AtNode<T>[]> {
  const results: AtNode<T>[] = []
  const waiting = nodes.entries()
  const workOff = async (): Promise<void> => {
    for (const [i, node] of waiting) results[i] = await askOne(node, ask)
  }
  await Promise.all(Array.from({ length: MOST_AT_ONCE }, workOff))
  return results
}

async function askOne<T>(node: NodeView, ask: (node: NodeView) => Promise<T>): Promise<AtNode<T>> {
  try {
    return { node, reply: await ask(node) }
  } catch (error) {
    if (error instanceof AppError) return { node, error }
    throw error
  }
}

/** The nodes that answered; the errors of the others are printed. Throws when no node answered. */
export function answered<T>({ terminal }: Client, results: readonly AtNode<T>[]): { node: NodeView; reply: T }[] {
  const failed = results.flatMap(({ error }) => error ?? [])
  if (failed.length > 0 && failed.length === results.length) throw failed[0]!
  return results.flatMap((result) => {
    if (!result.error) return [result]
    terminal.note(`${plain(result.node.name)}: ${result.error.message}`)
    return []
  })
}

/** For --json: the answer of each node, with its name; the error where it failed. */
export function jsonAt<T>(results: readonly AtNode<T>[], fields: (reply: T) => object): object[] {
  return results.map(({ node, reply, error }) => ({
    node_id: node.id,
    node: node.name,
    ...(error ? error.toBody() : fields(reply)),
  }))
}
