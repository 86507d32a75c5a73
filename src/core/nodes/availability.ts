import { mismatchOf } from './selector.ts'
import type { Node, Selector } from '../types.ts'

/*
 * Whether a node is in use, in one place. Four facts decide: an admin has approved it, it runs engines (a backend), an admin
 * wants it to work (active, not draining), and it has been heard (online; unreachable after a few missed heartbeats;
 * offline when it is given up).
 */

/** It may ever hold replicas. */
export function holdsReplicas(node: Pick<Node, 'approved' | 'nodeType'>): boolean {
  return node.approved && node.nodeType === 'backend'
}

/** Its replicas serve and count. A few missed heartbeats change nothing: the data path may well work. */
export function isInUse(node: Pick<Node, 'approved' | 'desired' | 'liveness'>): boolean {
  return node.approved && node.desired === 'active' && node.liveness !== 'offline'
}

/** A rule that wants a replica on every node wants one here. One that only missed heartbeats will have to wait for it. */
export function isMeant(selector: Selector, node: Node): boolean {
  return holdsReplicas(node) && isInUse(node) && mismatchOf(selector, node.labels) === undefined
}

/** Requests are sent to this model's replicas here: the node is in use, and the model's rule selects it. */
export function isServedOn(selector: Selector, node: Node): boolean {
  return isInUse(node) && mismatchOf(selector, node.labels) === undefined
}

/**
 * The same as far as admins decide it, whether the node has been heard or not; a node that is not known counts, because
 * its replicas are judged elsewhere. What is there and serves no request counts for nothing that a rule asks for.
 */
export function mayServeOn(selector: Selector, node: Node | undefined): boolean {
  return node?.desired !== 'draining' && (!node || mismatchOf(selector, node.labels) === undefined)
}
