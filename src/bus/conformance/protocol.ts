import { expect, test } from 'vitest'
import { CLOSED, connectLine } from './raw-client.ts'
import { aSubject, openRaw, sharedServer, type StartServer } from './scene.ts'

const HEADERS = { headers: true, no_responders: true }

/** The protocol byte by byte. Every exchange is fenced by a PING, so what is absent is known to be absent. */
export function protocolCases(start: StartServer): void {
  const server = sharedServer(start)

  test('greets with what a client needs to know', async () => {
    const { info } = await openRaw(server())
    expect(info).toMatchObject({ proto: 1, headers: true, max_payload: 1024 * 1024, port: server().port })
    expect(info).toMatchObject({ server_id: expect.stringMatching(/^N[A-Z2-7]{55}$/), client_id: expect.any(Number) })
    expect(info).toMatchObject({ version: expect.any(String), client_ip: '127.0.0.1', host: expect.any(String) })
    expect(info).not.toHaveProperty('auth_required')
    expect(info).not.toHaveProperty('tls_required')
  })

  test('answers PING with PONG, before CONNECT too', async () => {
    const raw = await openRaw(server(), { connect: false })
    raw.send('PING\r\n')
    expect(await raw.until('PONG\r\n')).toBe('PONG\r\n')
  })

  test('is verbose until told otherwise', async () => {
    const raw = await openRaw(server(), { connect: false })
    const subject = aSubject()
    expect(await raw.say(`SUB ${subject} 1\r\n`)).toBe('+OK\r\n')
    expect(await raw.say(connectLine())).toBe('')
    expect(await raw.say(`UNSUB 1\r\n`)).toBe('')
  })

  test('acknowledges every operation when verbose, before what it leads to', async () => {
    const raw = await openRaw(server(), { connect: { verbose: true } })
    const subject = aSubject()
    expect(await raw.say(`SUB ${subject} 1\r\nPUB ${subject} 1\r\nx\r\nUNSUB 1\r\n`)).toBe(
      `+OK\r\n+OK\r\n+OK\r\nMSG ${subject} 1 1\r\nx\r\n+OK\r\n`,
    )
  })

  test('takes operations in any case, blanks and tabs in any number, and a bare line feed', async () => {
    const raw = await openRaw(server())
    const subject = aSubject()
    expect(await raw.say(`sUb\t${subject}  7 \r\npub ${subject}\t 2 \r\nhi\r\nPuB ${subject} 1\nx\r\n`)).toBe(
      `MSG ${subject} 7 2\r\nhi\r\nMSG ${subject} 7 1\r\nx\r\n`,
    )
  })

  test('passes reply subject, empty payload and any bytes, line ends included', async () => {
    const raw = await openRaw(server())
    const subject = aSubject()
    const bytes = '\r\n\0ÿPUB a 1\r\n\r\n'
    expect(
      await raw.say(`SUB ${subject} 1\r\nPUB ${subject} to.me 0\r\n\r\nPUB ${subject} ${bytes.length}\r\n${bytes}\r\n`),
    ).toBe(`MSG ${subject} 1 to.me 0\r\n\r\nMSG ${subject} 1 ${bytes.length}\r\n${bytes}\r\n`)
  })

  test('keeps the bytes of a subject that is not ASCII', async () => {
    const raw = await openRaw(server())
    const subject = `${aSubject()}.${Buffer.from('größe').toString('latin1')}`
    expect(await raw.say(`SUB ${subject} 1\r\nPUB ${subject} 1\r\nx\r\n`)).toBe(`MSG ${subject} 1 1\r\nx\r\n`)
  })

  test('understands operations that arrive byte by byte', async () => {
    const raw = await openRaw(server())
    const subject = aSubject()
    const text = `SUB ${subject} 1\r\nPUB ${subject} r 5\r\nab\r\nc\r\nHPUB`
    for (const byte of text.slice(0, -4)) {
      raw.send(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await raw.say('')).toBe(`MSG ${subject} 1 r 5\r\nab\r\nc\r\n`)
  })

  test('passes headers on, and only the body to a client without header support', async () => {
    const raw = await openRaw(server(), { connect: HEADERS })
    const old = await openRaw(server())
    const subject = aSubject()
    await old.say(`SUB ${subject} 9\r\n`)
    const headers = 'NATS/1.0\r\nA: b\r\n\r\n'
    const sizes = `${headers.length} ${headers.length + 2}`
    expect(await raw.say(`SUB ${subject} 1\r\nHPUB ${subject} re.ply ${sizes}\r\n${headers}hi\r\n`)).toBe(
      `HMSG ${subject} 1 re.ply ${sizes}\r\n${headers}hi\r\n`,
    )
    expect(await old.say('')).toBe(`MSG ${subject} 9 re.ply 2\r\nhi\r\n`)
  })

  test('ends a connection that sends headers without having said so', async () => {
    const raw = await openRaw(server())
    expect(await raw.say('HPUB a 12 13\r\nNATS/1.0\r\n\r\nx\r\n')).toBe(CLOSED)
  })

  test('ends a subscription after the given number of messages, those before included', async () => {
    const raw = await openRaw(server())
    const subject = aSubject()
    const publish = (text: string): string => `PUB ${subject} 1\r\n${text}\r\n`
    const message = (text: string): string => `MSG ${subject} 1 1\r\n${text}\r\n`
    expect(await raw.say(`SUB ${subject} 1\r\n${publish('1')}UNSUB 1 2\r\n${publish('2')}${publish('3')}`)).toBe(
      message('1') + message('2'),
    )
    expect(await raw.say(`SUB ${subject} 1\r\n${publish('4')}${publish('5')}UNSUB 1 2\r\n${publish('6')}`)).toBe(
      message('4') + message('5'),
    )
    expect(await raw.say(`SUB ${subject} 1\r\n${publish('7')}UNSUB 1\r\n${publish('8')}UNSUB 1\r\n`)).toBe(message('7'))
  })

  test('keeps the first of two subscriptions with one id', async () => {
    const raw = await openRaw(server())
    const [one, two] = [aSubject(), aSubject()]
    expect(await raw.say(`SUB ${one} 1\r\nSUB ${two} 1\r\nPUB ${one} 1\r\nx\r\nPUB ${two} 1\r\ny\r\n`)).toBe(
      `MSG ${one} 1 1\r\nx\r\n`,
    )
  })

  test('refuses a subscription to what is not a subject, and goes on', async () => {
    const raw = await openRaw(server())
    for (const subject of ['a..b', '.a', 'a.', 'a.>.b', '>.a']) {
      expect(await raw.say(`SUB ${subject} 1\r\n`), subject).toBe("-ERR 'Invalid Subject'\r\n")
    }
  })

  test('takes wildcard characters inside a token as ordinary ones', async () => {
    const raw = await openRaw(server())
    const subject = `${aSubject()}.a*b.>x`
    expect(await raw.say(`SUB ${subject} 1\r\nPUB ${subject} 1\r\nx\r\n`)).toBe(`MSG ${subject} 1 1\r\nx\r\n`)
  })

  test('delivers nothing published to an invalid subject, and complains only when pedantic', async () => {
    const raw = await openRaw(server())
    const pedantic = await openRaw(server(), { connect: { pedantic: true } })
    const subject = aSubject()
    const text = `SUB ${subject}.> 1\r\nPUB ${subject}..b 1\r\nx\r\nPUB ${subject}.a. 1\r\nx\r\n`
    expect(await raw.say(text)).toBe('')
    const complaint = "-ERR 'Invalid Publish Subject'\r\n"
    expect(await pedantic.say(text)).toBe(complaint + complaint)
  })

  test('takes a wildcard in a published subject literally, with a complaint when pedantic', async () => {
    const raw = await openRaw(server())
    const pedantic = await openRaw(server(), { connect: { pedantic: true } })
    const subject = aSubject()
    const publish = `PUB ${subject}.* 1\r\nx\r\n`
    expect(await raw.say(`SUB ${subject}.* 1\r\nSUB ${subject}.a 2\r\n${publish}`)).toBe(
      `MSG ${subject}.* 1 1\r\nx\r\n`,
    )
    expect(await pedantic.say(publish)).toBe("-ERR 'Invalid Publish Subject'\r\n")
  })

  test('does not echo to a client that asked for no echo', async () => {
    const raw = await openRaw(server(), { connect: { echo: false } })
    const other = await openRaw(server())
    const subject = aSubject()
    await other.say(`SUB ${subject} 3\r\n`)
    expect(await raw.say(`SUB ${subject} 1\r\nPUB ${subject} 1\r\nx\r\n`)).toBe('')
    expect(await other.say('')).toBe(`MSG ${subject} 3 1\r\nx\r\n`)
  })

  test('tells a requester at once that there is no responder', async () => {
    const raw = await openRaw(server(), { connect: HEADERS })
    const [subject, inbox] = [aSubject(), aSubject()]
    const nobody = (reply: string): string => `HMSG ${reply} 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n`
    expect(await raw.say(`SUB ${inbox}.* 1\r\nPUB ${subject} ${inbox}.1 1\r\nx\r\n`)).toBe(nobody(`${inbox}.1`))
    expect(await raw.say(`HPUB ${subject} ${inbox}.2 12 13\r\nNATS/1.0\r\n\r\nx\r\n`)).toBe(nobody(`${inbox}.2`))
    expect(await raw.say(`PUB ${subject} 1\r\nx\r\n`)).toBe('')
    expect(await raw.say(`SUB ${subject} 2\r\nPUB ${subject} ${inbox}.3 1\r\nx\r\n`)).toBe(
      `MSG ${subject} 2 ${inbox}.3 1\r\nx\r\n`,
    )
  })

  test('sends no such message to a client that did not ask for it', async () => {
    const raw = await openRaw(server(), { connect: { headers: true } })
    const [subject, inbox] = [aSubject(), aSubject()]
    expect(await raw.say(`SUB ${inbox} 1\r\nPUB ${subject} ${inbox} 1\r\nx\r\n`)).toBe('')
  })

  test('does not count a client without echo as its own responder', async () => {
    const raw = await openRaw(server(), { connect: { ...HEADERS, echo: false } })
    const [subject, inbox] = [aSubject(), aSubject()]
    expect(await raw.say(`SUB ${inbox} 1\r\nSUB ${subject} 2\r\nPUB ${subject} ${inbox} 1\r\nx\r\n`)).toBe(
      `HMSG ${inbox} 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n`,
    )
  })

  test.for([
    ['no responders without headers', connectLine({ no_responders: true }), 'no responders requires headers support'],
    ['an unknown client protocol', connectLine({ protocol: 2 }), 'invalid client protocol'],
    ['an unknown operation', 'FOO bar\r\n', 'Unknown Protocol Operation'],
    ['an unknown operation that does not even end', '\x16\x03\x01\x02', 'Unknown Protocol Operation'],
    ['an HTTP request', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', 'Unknown Protocol Operation'],
    ['an empty line', '\r\n', 'Unknown Protocol Operation'],
    ['a message as only servers send it', 'MSG a 1 1\r\nx\r\n', 'Unknown Protocol Operation'],
    ['a PUB without arguments', 'PUB\r\n', 'Unknown Protocol Operation'],
    ['a payload longer than said', 'PUB a 1\r\nxyz\r\n', 'Unknown Protocol Operation'],
    ['a payload that ends in a bare line feed', 'PUB a 1\r\nx\nPING\r\n', 'Unknown Protocol Operation'],
  ] as const)('refuses %s', async ([, text, error]) => {
    const raw = await openRaw(server())
    expect(await raw.say(text)).toBe(`-ERR '${error}'\r\n${CLOSED}`)
  })

  test.for([
    ['CONNECT that is not JSON', 'CONNECT {foo\r\n'],
    ['CONNECT with a field of the wrong type', 'CONNECT {"verbose":"yes"}\r\n'],
    ['PUB with one argument', 'PUB a\r\n'],
    ['PUB with a negative size', 'PUB a -1\r\n'],
    ['PUB with a size that is no number', 'PUB a b\r\n'],
    ['PUB with a size beyond all numbers', 'PUB a 99999999999999\r\n'],
    ['PUB with too many arguments', 'PUB a b c 1\r\n'],
    ['SUB with one argument', 'SUB a\r\n'],
    ['SUB with too many arguments', 'SUB a q 1 2\r\n'],
    ['-ERR from a client', "-ERR 'x'\r\n"],
  ] as const)('hangs up on %s', async ([, text]) => {
    const raw = await openRaw(server())
    expect(await raw.say(text)).toBe(CLOSED)
  })

  test.for([
    ['more header than message', 'HPUB a 14 13\r\n'],
    ['only one size', 'HPUB a 14\r\n'],
  ] as const)('hangs up on HPUB with %s', async ([, text]) => {
    const raw = await openRaw(server(), { connect: HEADERS })
    expect(await raw.say(text)).toBe(CLOSED)
  })

  test('lets pass what servers say and clients need not', async () => {
    const raw = await openRaw(server())
    expect(await raw.say('PONG\r\n+OK\r\nINFO {}\r\nUNSUB 99\r\n')).toBe('')
  })
}
