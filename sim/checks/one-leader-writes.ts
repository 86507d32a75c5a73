import type { Check } from './check.ts'

/** How a leader proves that it still leads, within the transaction that acts. */
const PROOF = 'select 1 as held from leases where name = $1 and owner = $2 and epoch = $3'

/** Invariant 9: an epoch has one owner for ever, nobody writes once a later epoch has written, and no plan is written without one. */
export function oneLeaderWrites(): Check {
  const ownerOf = new Map<number, string>()
  let latest = 0
  return {
    name: 'epochs (invariant 9)',
    onCommit({ who, statements, inserted }) {
      const proof = statements.find(({ text }) => text === PROOF)
      if (!proof) return inserted.length > 0 ? `${who.name} placed replicas without holding the lease` : undefined
      const owner = String(proof.params[1])
      const epoch = Number(proof.params[2])
      const first = ownerOf.get(epoch) ?? owner
      ownerOf.set(epoch, first)
      if (first !== owner) return `epoch ${epoch} belongs to ${first}, and ${owner} writes with it`
      if (epoch < latest) return `${owner} writes with epoch ${epoch} after epoch ${latest} has begun`
      latest = epoch
      return undefined
    },
  }
}
