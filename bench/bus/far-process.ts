import { connect } from '@nats-io/transport-node'
import { ECHO_SUBJECT, expectSubject, FINISHED_SUBJECT, flowSubject } from './messages.ts'

/** The far side: answers requests, and counts what is published, with as many connections as there are subscribers. */
const [url = '', ...subscriberCounts] = process.argv.slice(2)
const control = await connect({ servers: url })
control.subscribe(ECHO_SUBJECT, { callback: (_, message) => void message.respond(message.data) })

for (const subscribers of subscriberCounts.map(Number)) {
  let expected = 0
  let finished = 0
  const counts: { received: number }[] = []
  control.subscribe(expectSubject(subscribers), {
    callback(_, message) {
      expected = Number(message.string())
      finished = 0
      for (const count of counts) count.received = 0
      message.respond()
    },
  })
  for (let i = 0; i < subscribers; i += 1) {
    const count = { received: 0 }
    counts.push(count)
    const connection = await connect({ servers: url })
    connection.subscribe(flowSubject(subscribers), {
      callback() {
        count.received += 1
        if (count.received !== expected) return
        finished += 1
        if (finished === subscribers) control.publish(FINISHED_SUBJECT)
      },
    })
    await connection.flush()
  }
}
await control.flush()
process.send?.({ ready: true, url })
process.once('disconnect', () => process.exit())
