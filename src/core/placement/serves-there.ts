import type { Node, Selector } from '../types.ts'
import { mismatchOf } from './selector.ts'

/**
 * Whether requests are sent to replicas on a node at all, as far as people have a say: not where it is drained, nor where
 * it lacks what the model's rule asks for. What is there and serves nobody counts for nothing that a rule asks for.
 */
export function servesThere(node: Node | undefined, selector: Selector): boolean {
  return node?.desired !== 'draining' && (!node || mismatchOf(selector, node.labels) === undefined)
}
