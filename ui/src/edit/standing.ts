/** What is stored, as a form shows it, and when it was saved. */
export interface Stored<D> {
  draft: D
  updatedAt: number
}

export interface Standing {
  /** `changed`: somebody else has saved something different. `gone`: somebody has removed it. */
  state: 'same' | 'changed' | 'gone'
  /** What is to be given when it is saved, so that nothing is overwritten that nobody has looked at. */
  ifUpdatedAt: number
}

/** How what is edited stands to what is stored now; undefined is what is not there. */
export function standingOf<D>(before: Stored<D> | undefined, now: Stored<D> | undefined): Standing {
  if (!now) return { state: before ? 'gone' : 'same', ifUpdatedAt: 0 }
  if (!before) return { state: 'changed', ifUpdatedAt: 0 }
  // Saved again without a difference, as each start of a frontend may do: there is nothing to decide.
  const isSame = before.updatedAt === now.updatedAt || JSON.stringify(before.draft) === JSON.stringify(now.draft)
  return isSame ? { state: 'same', ifUpdatedAt: now.updatedAt } : { state: 'changed', ifUpdatedAt: before.updatedAt }
}
