import type { Check } from './check.ts'

/** Invariant 9: an epoch has one owner for ever, and nobody writes once a later epoch has written. */
export function epochsCheck(): Check {
  const ownerOf = new Map<number, string>()
  let latest = 0
  return {
    name: 'epochs (invariant 9)',
    look({ ground }) {
      for (const { owner, epoch } of ground.happened.commits) {
        const first = ownerOf.get(epoch) ?? owner
        ownerOf.set(epoch, first)
        if (first !== owner) return `${first} and ${owner} both wrote in epoch ${epoch}`
        if (epoch < latest) return `${owner} wrote in epoch ${epoch} after epoch ${latest} had begun`
        latest = epoch
      }
      return undefined
    },
  }
}
