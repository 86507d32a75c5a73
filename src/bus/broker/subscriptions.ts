import { isLiteral } from './subjects.ts'

export interface Subscribed {
  readonly subject: string
  /** The queue group; '' is none. */
  readonly queue: string
}

/** The receivers of one message: every plain subscription, and one of each group. Handed-out arrays never change. */
export interface Matches<S> {
  readonly plain: readonly S[]
  readonly groups: readonly (readonly S[])[]
}

/** Subjects remembered per generation of the cache. Reply subjects are used once, so the cache must be cheap to fill. */
const CACHE_ENTRIES = 1024

/**
 * Finds the subscriptions of a subject. Subscriptions without wildcards are in a map by their subject; those with
 * wildcards in a tree with one level per token. Answers are kept in a cache of two generations: when the young one is
 * full it becomes the old one, and what is still in use comes back from there. That bounds it without any bookkeeping
 * per entry.
 */
export class SubscriptionIndex<S extends Subscribed> {
  readonly #literal = new Map<string, Bucket<S>>()
  readonly #root = new Level<S>()
  #young = new Map<string, Matches<S>>()
  #old = new Map<string, Matches<S>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(subscription: S): void {
    this.#bucketOf(subscription).add(subscription)
    this.#size += 1
    this.#forget(subscription.subject)
  }

  /** Removing what is not there is a mistake of the caller. */
  remove(subscription: S): void {
    const { subject } = subscription
    if (isLiteral(subject)) {
      const bucket = this.#literal.get(subject)
      bucket?.remove(subscription)
      if (bucket?.isEmpty) this.#literal.delete(subject)
    } else {
      removeFrom(this.#root, subject.split('.'), 0, subscription)
    }
    this.#size -= 1
    this.#forget(subject)
  }

  match(subject: string): Matches<S> {
    let found = this.#young.get(subject)
    if (found) return found
    found = this.#old.get(subject) ?? this.#find(subject)
    if (this.#young.size >= CACHE_ENTRIES) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(subject, found)
    return found
  }

  #bucketOf({ subject }: S): Bucket<S> {
    if (!isLiteral(subject)) return descend(this.#root, subject.split('.'))
    let bucket = this.#literal.get(subject)
    if (!bucket) this.#literal.set(subject, (bucket = new Bucket()))
    return bucket
  }

  /** A change to a literal subject concerns that subject alone; a pattern may concern any. */
  #forget(subject: string): void {
    if (isLiteral(subject)) {
      this.#young.delete(subject)
      this.#old.delete(subject)
    } else {
      this.#young.clear()
      this.#old.clear()
    }
  }

  #find(subject: string): Matches<S> {
    const buckets: Bucket<S>[] = []
    const literal = this.#literal.get(subject)
    if (literal) buckets.push(literal)
    if (!this.#root.isEmpty) {
      const tokens = subject.split('.')
      if (!tokens.includes('')) collect(this.#root, tokens, 0, buckets)
    }
    return merge(buckets)
  }
}

/** The subscriptions to one subject or pattern. */
class Bucket<S extends Subscribed> {
  readonly plain = new Set<S>()
  readonly groups = new Map<string, Set<S>>()

  get isEmpty(): boolean {
    return this.plain.size === 0 && this.groups.size === 0
  }

  add(subscription: S): void {
    if (subscription.queue === '') {
      this.plain.add(subscription)
      return
    }
    const group = this.groups.get(subscription.queue)
    if (group) group.add(subscription)
    else this.groups.set(subscription.queue, new Set([subscription]))
  }

  remove(subscription: S): void {
    this.plain.delete(subscription)
    const group = this.groups.get(subscription.queue)
    group?.delete(subscription)
    if (group?.size === 0) this.groups.delete(subscription.queue)
  }
}

class Level<S extends Subscribed> {
  /** By token; `*` is one of them. */
  readonly next = new Map<string, Level<S>>()
  /** Patterns that end here. */
  readonly here = new Bucket<S>()
  /** Patterns that end here with `>`. */
  readonly rest = new Bucket<S>()

  get isEmpty(): boolean {
    return this.next.size === 0 && this.here.isEmpty && this.rest.isEmpty
  }
}

function descend<S extends Subscribed>(root: Level<S>, tokens: readonly string[]): Bucket<S> {
  let level = root
  for (const [i, token] of tokens.entries()) {
    if (token === '>' && i === tokens.length - 1) return level.rest
    let next = level.next.get(token)
    if (!next) level.next.set(token, (next = new Level()))
    level = next
  }
  return level.here
}

function removeFrom<S extends Subscribed>(level: Level<S>, tokens: readonly string[], at: number, gone: S): void {
  const token = tokens[at]
  if (token === undefined) level.here.remove(gone)
  else if (token === '>' && at === tokens.length - 1) level.rest.remove(gone)
  else {
    const next = level.next.get(token)
    if (!next) return
    removeFrom(next, tokens, at + 1, gone)
    if (next.isEmpty) level.next.delete(token)
  }
}

function collect<S extends Subscribed>(
  level: Level<S>,
  tokens: readonly string[],
  at: number,
  found: Bucket<S>[],
): void {
  const token = tokens[at]
  if (token === undefined) {
    if (!level.here.isEmpty) found.push(level.here)
    return
  }
  if (!level.rest.isEmpty) found.push(level.rest)
  const exact = level.next.get(token)
  if (exact) collect(exact, tokens, at + 1, found)
  // A published subject may itself hold the token `*`, and then both are the same level.
  if (token === '*') return
  const any = level.next.get('*')
  if (any) collect(any, tokens, at + 1, found)
}

const NOTHING: Matches<never> = { plain: [], groups: [] }

/** One group name is one group, through however many patterns its members subscribed. */
function merge<S extends Subscribed>(buckets: readonly Bucket<S>[]): Matches<S> {
  if (buckets.length === 0) return NOTHING
  const groups = new Map<string, S[]>()
  for (const bucket of buckets) {
    for (const [name, members] of bucket.groups) {
      const group = groups.get(name)
      if (group) group.push(...members)
      else groups.set(name, [...members])
    }
  }
  return { plain: buckets.flatMap((bucket) => [...bucket.plain]), groups: [...groups.values()] }
}
