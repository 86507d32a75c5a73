import { connect } from '@nats-io/transport-node'
import { ECHO_SUBJECT, expectSubject, FINISHED_SUBJECT, flowSubject, type Work } from './messages.ts'

/** The near side: does one piece of work at a time and says how fast it went. */
const [url = ''] = process.argv.slice(2)
const connection = await connect({ servers: url })
let onFinished = (): void => {}
connection.subscribe(FINISHED_SUBJECT, { callback: () => onFinished() })
await connection.flush()

process.on('message', (work: Work) => {
  const rate = work.kind === 'requests' ? requests(work) : publishes(work)
  void rate.then((perSecond) => process.send?.({ perSecond }))
})
process.once('disconnect', () => process.exit())
process.send?.({ ready: true, url })

async function requests({ inFlight, bytes, durationMs }: Extract<Work, { kind: 'requests' }>): Promise<number> {
  const payload = new Uint8Array(bytes)
  const startMs = performance.now()
  let answered = 0
  const lane = async (): Promise<void> => {
    while (performance.now() - startMs < durationMs) {
      await connection.request(ECHO_SUBJECT, payload, { timeout: 5_000 })
      answered += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  return perSecond(answered, startMs)
}

async function publishes({ subscribers, bytes, count }: Extract<Work, { kind: 'publishes' }>): Promise<number> {
  const payload = new Uint8Array(bytes)
  const subject = flowSubject(subscribers)
  const finished = new Promise<void>((resolve) => (onFinished = resolve))
  await connection.request(expectSubject(subscribers), String(count), { timeout: 5_000 })
  const startMs = performance.now()
  for (let i = 0; i < count; i += 1) {
    connection.publish(subject, payload)
    // Lets the client write as it goes, as a program that does other things too would.
    if (i % 1_000 === 999) await new Promise((resolve) => setImmediate(resolve))
  }
  await finished
  return perSecond(count, startMs)
}

function perSecond(count: number, startMs: number): number {
  return (count * 1_000) / (performance.now() - startMs)
}
