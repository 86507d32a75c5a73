import { createInbox, headers, RequestError, type Msg, type NatsConnection } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { aSubject, openNats, sharedServer, within, type StartServer } from './scene.ts'

/** What a program does with nats.js. A flush is a PING: the server has dealt with everything sent before it. */
export function messagingCases(start: StartServer): void {
  const server = sharedServer(start)

  test('a message reaches every subscriber, and no other client', async () => {
    const [publisher, one, two] = [await openNats(server()), await openNats(server()), await openNats(server())]
    const subject = aSubject()
    const heard = [await listen(one, subject), await listen(two, subject), await listen(two, aSubject())]
    publisher.publish(subject, 'hello')
    await settle(publisher, one, two)
    expect(heard.map(texts)).toEqual([['hello'], ['hello'], []])
  })

  test('wildcards take what they should', async () => {
    const client = await openNats(server())
    const root = aSubject()
    const patterns = ['a', '*', 'a.*', '*.b', '>', 'a.>', 'a.*.c', '*.*.*', 'a.b.c.d']
    const heard = await Promise.all(patterns.map((pattern) => listen(client, `${root}.${pattern}`)))
    for (const subject of ['a', 'a.b', 'a.b.c', 'x.b']) client.publish(`${root}.${subject}`, subject)
    await settle(client, client)
    expect(Object.fromEntries(patterns.map((pattern, i) => [pattern, texts(heard[i]!)]))).toEqual({
      a: ['a'],
      '*': ['a'],
      'a.*': ['a.b'],
      '*.b': ['a.b', 'x.b'],
      '>': ['a', 'a.b', 'a.b.c', 'x.b'],
      'a.>': ['a.b', 'a.b.c'],
      'a.*.c': ['a.b.c'],
      '*.*.*': ['a.b.c'],
      'a.b.c.d': [],
    })
  })

  test('one member of a queue group gets each message, and all members get some', async () => {
    const publisher = await openNats(server())
    const members = [await openNats(server()), await openNats(server()), await openNats(server())]
    const subject = aSubject()
    const [left, middle] = await Promise.all(members.slice(0, 2).map((member) => listen(member, subject, 'workers')))
    // The same group through a pattern is still the same group.
    const right = await listen(members[2]!, subject.replace(/[^.]+$/, '*'), 'workers')
    const watcher = await listen(publisher, subject)
    const sent = Array.from({ length: 300 }, (_, i) => String(i))
    for (const text of sent) publisher.publish(subject, text)
    await settle(publisher, ...members)
    const got = [left!, middle!, right].map(texts)
    expect(got.flat().toSorted()).toEqual(sent.toSorted())
    for (const share of got) expect(share.length).toBeGreaterThan(0)
    expect(texts(watcher)).toEqual(sent)
  })

  test('two queue groups each get every message', async () => {
    const client = await openNats(server())
    const subject = aSubject()
    const heard = [await listen(client, subject, 'one'), await listen(client, subject, 'two')]
    for (let i = 0; i < 10; i += 1) client.publish(subject, String(i))
    await settle(client, client)
    expect(heard.map((messages) => messages.length)).toEqual([10, 10])
  })

  test('a queue group goes on without a member that has left', async () => {
    const [publisher, stays, leaves] = [await openNats(server()), await openNats(server()), await openNats(server())]
    const subject = aSubject()
    const heard = await listen(stays, subject, 'workers')
    await listen(leaves, subject, 'workers')
    const presence = aSubject()
    leaves.subscribe(presence, { callback: (_, message) => void message.respond() })
    await leaves.flush()
    await leaves.close()
    await within('the member to be gone', untilUnserved(publisher, presence))
    for (let i = 0; i < 50; i += 1) publisher.publish(subject, String(i))
    await settle(publisher, stays)
    expect(heard).toHaveLength(50)
  })

  test('headers arrive as they were sent', async () => {
    const client = await openNats(server())
    const subject = aSubject()
    const heard = await listen(client, subject)
    const sent = headers()
    sent.append('X-Trace', 'a:b, c')
    sent.append('X-Trace', 'second')
    client.publish(subject, 'body', { headers: sent })
    await settle(client, client)
    expect(heard[0]?.headers?.values('X-Trace')).toEqual(['a:b, c', 'second'])
    expect(texts(heard)).toEqual(['body'])
  })

  test('a request is answered', async () => {
    const [asks, answers] = [await openNats(server()), await openNats(server())]
    const subject = aSubject()
    answers.subscribe(subject, { callback: (_, message) => void message.respond(`re: ${message.string()}`) })
    await answers.flush()
    const many = Array.from({ length: 100 }, (_, i) => asks.request(subject, String(i), { timeout: 10_000 }))
    expect((await Promise.all(many)).map((answer) => answer.string())).toEqual(many.map((_, i) => `re: ${i}`))
  })

  test('a request without the shared inbox is answered too', async () => {
    const [asks, answers] = [await openNats(server()), await openNats(server())]
    const subject = aSubject()
    answers.subscribe(subject, { callback: (_, message) => void message.respond('yes') })
    await answers.flush()
    const answer = await asks.request(subject, '', { timeout: 10_000, noMux: true, reply: createInbox() })
    expect(answer.string()).toBe('yes')
  })

  test('a request without a responder fails at once', async () => {
    const client = await openNats(server())
    const failure: unknown = await client.request(aSubject(), '', { timeout: 10_000 }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(RequestError)
    expect((failure as RequestError).isNoResponders()).toBe(true)
  })

  test('a subscription with a maximum ends by itself', async () => {
    const [publisher, subscriber] = [await openNats(server()), await openNats(server())]
    const subject = aSubject()
    const subscription = subscriber.subscribe(subject, { max: 3 })
    await subscriber.flush()
    for (let i = 0; i < 10; i += 1) publisher.publish(subject, String(i))
    const heard: string[] = []
    for await (const message of subscription) heard.push(message.string())
    expect(heard).toEqual(['0', '1', '2'])
  })

  test('what a client drains is delivered before it leaves', async () => {
    const [publisher, subscriber] = [await openNats(server()), await openNats(server())]
    const subject = aSubject()
    const heard = await listen(subscriber, subject)
    for (let i = 0; i < 1_000; i += 1) publisher.publish(subject, String(i))
    await publisher.flush()
    await within('the drain', subscriber.drain())
    expect(heard).toHaveLength(1_000)
  })

  test('large payloads pass whole', async () => {
    const [publisher, subscriber] = [await openNats(server()), await openNats(server())]
    const subject = aSubject()
    const heard = await listen(subscriber, subject)
    const sizes = [0, 1, 15_000, 16 * 1024, 65_535, 65_536, 65_537, 300_000, 1024 * 1024]
    const payloads = sizes.map((size, i) => Buffer.alloc(size, `payload ${i} `))
    for (const payload of payloads) publisher.publish(subject, payload)
    await settle(publisher, subscriber)
    expect(heard.map((message) => message.data.length)).toEqual(sizes)
    expect(heard.every((message, i) => payloads[i]!.equals(message.data))).toBe(true)
  })

  test('1,000 messages to 100 subscribers: none lost, none out of order', async () => {
    const publisher = await openNats(server())
    const subscribers = await Promise.all(Array.from({ length: 100 }, () => openNats(server())))
    const subject = aSubject()
    const heard = await Promise.all(subscribers.map((subscriber) => listen(subscriber, subject)))
    const sent = Array.from({ length: 1_000 }, (_, i) => `message ${i}`)
    for (const text of sent) publisher.publish(subject, text)
    await settle(publisher, ...subscribers)
    for (const messages of heard) expect(texts(messages)).toEqual(sent)
  })
}

/** Subscribes, and returns the list that fills up. The server knows the subscription when this resolves. */
async function listen(connection: NatsConnection, subject: string, queue?: string): Promise<Msg[]> {
  const heard: Msg[] = []
  connection.subscribe(subject, {
    ...(queue !== undefined && { queue }),
    callback: (_, message) => void heard.push(message),
  })
  await connection.flush()
  return heard
}

/** When this resolves, everything published has reached every receiver: first the publisher's fence, then theirs. */
async function settle(publisher: NatsConnection, ...receivers: NatsConnection[]): Promise<void> {
  await within('the publisher', publisher.flush())
  await within('the receivers', Promise.all(receivers.map((receiver) => receiver.flush())))
}

/** Asks until the server says that there is no responder. */
async function untilUnserved(connection: NatsConnection, subject: string): Promise<void> {
  for (;;) {
    const answer: unknown = await connection.request(subject, '', { timeout: 100 }).catch((error: unknown) => error)
    if (answer instanceof RequestError && answer.isNoResponders()) return
  }
}

function texts(messages: readonly Msg[]): string[] {
  return messages.map((message) => message.string())
}
