import type { Node, Rule } from '../../src/core/types.ts'

/**
 * Whether a rule's replicas may be on this node. Written apart from core/placement on purpose: rules of the simulator ask
 * for a plain value, or for anything but that.
 */
export function isMeant(rule: Rule | undefined, { labels }: Node): boolean {
  return Object.entries(rule?.nodeSelector ?? {}).every(([key, value]) => {
    const text = String(value)
    return text.startsWith('!') ? labels[key] !== text.slice(1) : labels[key] === text
  })
}
