import fc from 'fast-check'
import { expect, test } from 'vitest'
import { matches } from './subjects.ts'
import { SubscriptionIndex, type Subscribed } from './subscriptions.ts'

const token = fc.constantFrom('a', 'b', 'c')
const subject = fc.array(token, { minLength: 1, maxLength: 4 }).map((tokens) => tokens.join('.'))
const pattern = fc
  .tuple(fc.array(fc.oneof(token, fc.constant('*')), { maxLength: 3 }), fc.boolean())
  .map(([tokens, rest]) => [...tokens, ...(rest || tokens.length === 0 ? ['>'] : [])].join('.'))

type Step = { add: { pattern: string; queue: string } } | { remove: number } | { ask: string }
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ add: fc.record({ pattern: fc.oneof(subject, pattern), queue: fc.constantFrom('', '', 'q1', 'q2') }) }),
  fc.record({ remove: fc.nat() }),
  fc.record({ ask: subject }),
)

interface Numbered extends Subscribed {
  id: number
}

/** The receivers of a message, in a form that does not depend on order. */
function idsOf(
  plain: readonly Numbered[],
  groups: readonly (readonly Numbered[])[],
): { plain: number[]; groups: string[] } {
  const ids = (list: readonly Numbered[]): number[] => list.map(({ id }) => id).toSorted((a, b) => a - b)
  return { plain: ids(plain), groups: groups.map((group) => ids(group).join()).toSorted() }
}

test('after any changes it finds exactly what a walk over all subscriptions finds', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const index = new SubscriptionIndex<Numbered>()
      const all: Numbered[] = []
      const answers: unknown[] = []
      const expected: unknown[] = []
      for (const [id, now] of steps.entries()) {
        if ('add' in now) {
          const subscription = { subject: now.add.pattern, queue: now.add.queue, id }
          all.push(subscription)
          index.add(subscription)
        } else if ('remove' in now) {
          const [gone] = all.splice(now.remove % Math.max(1, all.length), 1)
          if (gone) index.remove(gone)
        } else {
          const { plain, groups } = index.match(now.ask)
          const { '': alone = [], ...queues } = Object.groupBy(
            all.filter((subscription) => matches(subscription.subject, now.ask)),
            ({ queue }) => queue,
          )
          answers.push(idsOf(plain, groups))
          expected.push(
            idsOf(
              alone,
              Object.values(queues).map((group) => group ?? []),
            ),
          )
        }
      }
      expect(answers).toEqual(expected)
      expect(index.size).toBe(all.length)
    }),
    { numRuns: 500 },
  )
})

test('what was handed out stays as it was when subscriptions change', () => {
  const index = new SubscriptionIndex<Subscribed>()
  const first = { subject: 'a', queue: '' }
  index.add(first)
  const before = index.match('a')
  index.remove(first)
  expect(before.plain).toEqual([first])
  expect(index.match('a').plain).toEqual([])
})

test('many more subjects than the cache holds are all found', () => {
  const index = new SubscriptionIndex<Subscribed>()
  const wild = { subject: 'reply.*', queue: '' }
  index.add(wild)
  for (let i = 0; i < 10_000; i += 1) expect(index.match(`reply.${i}`).plain).toEqual([wild])
  index.remove(wild)
  for (let i = 9_000; i < 10_000; i += 1) expect(index.match(`reply.${i}`).plain).toEqual([])
})

test('an invalid subject finds nothing', () => {
  const index = new SubscriptionIndex<Subscribed>()
  index.add({ subject: '>', queue: '' })
  expect(['a..b', '.a', 'a.', ''].flatMap((invalid) => index.match(invalid).plain)).toEqual([])
})
