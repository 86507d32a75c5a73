import type { Client, Subscription } from './client.ts'
import type { Message } from './message.ts'
import type { SubscriptionIndex } from './subscriptions.ts'

/** Delivers a message from its publisher to its subscribers. */
export function routeThrough(subscriptions: SubscriptionIndex<Subscription>): (from: Client, message: Message) => void {
  return (from, message) => {
    const { plain, groups } = subscriptions.match(message.subject)
    let delivered = false
    // Delivering may end subscriptions, and with them what the index holds; these arrays stay as they were.
    for (const subscription of plain) {
      if (subscription.client.deliver(subscription, message, from)) delivered = true
    }
    for (const group of groups) if (deliverToOne(group, message, from)) delivered = true
    if (!delivered && message.hasReply && from.wantsNoResponders) {
      const waiting = subscriptions.match(message.reply).plain.find((subscription) => subscription.client === from)
      if (waiting) from.answerNoResponders(message.reply, waiting)
    }
  }
}

/** A member at random; if it does not take it (it has just left, or wants no echo), the next one. */
function deliverToOne(group: readonly Subscription[], message: Message, from: Client): boolean {
  const start = Math.floor(Math.random() * group.length)
  for (let i = 0; i < group.length; i += 1) {
    const member = group[(start + i) % group.length]!
    if (member.client.deliver(member, message, from)) return true
  }
  return false
}
