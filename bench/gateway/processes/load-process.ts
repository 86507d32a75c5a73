import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from '../quantile.ts'
import {
  JSON_TAIL,
  PACE_MS,
  PACED_EVENTS,
  PATH,
  requestBody,
  STREAM_TAIL,
  type Kind,
  type Measured,
  type Target,
  type Work,
} from '../messages.ts'

/**
 * Holds streams, asks at a fixed rate, and is the client where wrk is not installed. It looks for the end of answers in
 * bytes, being in a hurry.
 */
const held: Socket[] = []
process.on('message', (work: Work) => {
  void run(work).then((done) => process.send?.(done))
})
process.once('disconnect', () => process.exit())
process.send?.({})

async function run(work: Work): Promise<Measured | object> {
  switch (work.do) {
    case 'measure':
      return measure(work.target, work.kind, work.connections, work.durationMs)
    case 'first byte':
      return firstByte(work)
    case 'rate':
      return askAtRate(work, 'json')
    case 'hold':
      for (let i = 0; i < work.streams; i += 1) held.push(await hold(work.target))
      return {}
    case 'replace':
      for (const socket of held.splice(0, work.streams)) socket.destroy()
      for (let i = 0; i < work.streams; i += 1) held.push(await hold(work.target))
      return {}
    case 'release':
      for (const socket of held.splice(0)) socket.destroy()
      return {}
  }
}

const STREAM_MS = PACED_EVENTS * PACE_MS

function firstByte({ begin, streams, ...work }: Work & { do: 'first byte' }): Promise<Measured> {
  if (begin === 'at a rate') return askAtRate({ ...work, perSecond: (streams * 1000) / STREAM_MS }, 'paced')
  return measure(work.target, 'paced', streams, work.durationMs, begin === 'in turn' ? STREAM_MS : 0)
}

/**
 * One request after another on each connection, the first ones spread over a time. Of paced streams the first byte is
 * timed, of others the last.
 */
async function measure(
  target: Target,
  kind: Kind,
  connections: number,
  durationMs: number,
  spreadMs = 0,
): Promise<Measured> {
  const request = requestText(target, kind)
  const tail = Buffer.from(kind === 'json' ? JSON_TAIL : STREAM_TAIL)
  const latenciesMs: number[] = []
  let failed = 0
  const startMs = performance.now()
  const lane = async (_: unknown, i: number): Promise<void> => {
    const socket = await open(target)
    await sleep((i * spreadMs) / connections)
    while (performance.now() - startMs < durationMs && !socket.destroyed) {
      const sentMs = performance.now()
      const { isOk, firstMs } = await ask(socket, request, tail)
      if (isOk) latenciesMs.push((kind === 'paced' ? firstMs : performance.now()) - sentMs)
      else failed += 1
    }
    socket.destroy()
  }
  await Promise.all(Array.from({ length: connections }, lane))
  return summaryOf(latenciesMs, performance.now() - startMs, failed)
}

const LATEST_MS = 3000

/** Each goes out when it is due, on a connection that is free: who is slow makes nobody ask less. */
async function askAtRate(
  { target, perSecond, durationMs }: { target: Target; perSecond: number; durationMs: number },
  kind: 'json' | 'paced',
): Promise<Measured> {
  const request = requestText(target, kind)
  const tail = Buffer.from(kind === 'json' ? JSON_TAIL : STREAM_TAIL)
  const free: Socket[] = []
  const all = new Set<Socket>()
  const latenciesMs: number[] = []
  const asked: Promise<void>[] = []
  const startMs = performance.now()
  const askOnce = async (): Promise<void> => {
    const socket = free.pop() ?? (await open(target))
    all.add(socket)
    const sentMs = performance.now()
    const { isOk, firstMs } = await ask(socket, request, tail)
    if (!isOk) return
    latenciesMs.push((kind === 'paced' ? firstMs : performance.now()) - sentMs)
    free.push(socket)
  }
  for (let sent = 0; performance.now() - startMs < durationMs; await sleep(1)) {
    const due = ((performance.now() - startMs) * perSecond) / 1000
    for (; sent < due; sent += 1) asked.push(askOnce().catch(() => {}))
  }
  // One that drowns in requests is not waited for until it has swum through them all.
  await Promise.race([Promise.all(asked), sleep(LATEST_MS, undefined, { ref: false })])
  const failed = asked.length - latenciesMs.length
  for (const socket of all) socket.destroy()
  return summaryOf(latenciesMs, performance.now() - startMs, failed)
}

function summaryOf(latenciesMs: readonly number[], elapsedMs: number, failed: number): Measured {
  const perSecond = (latenciesMs.length * 1000) / elapsedMs
  return { perSecond, p50Ms: quantile(latenciesMs, 0.5), p99Ms: quantile(latenciesMs, 0.99), failed }
}

/** Not ok when the answer was not a 200, or broke off. */
function ask(socket: Socket, request: string, tail: Buffer): Promise<{ isOk: boolean; firstMs: number }> {
  return new Promise((resolve) => {
    let firstMs = 0
    let isOk = false
    let last = Buffer.alloc(0)
    const over = (): void => {
      socket.off('data', onData).off('close', onClose)
      resolve({ isOk, firstMs })
    }
    const onClose = (): void => {
      isOk = false
      over()
    }
    const onData = (chunk: Buffer): void => {
      if (firstMs === 0) {
        firstMs = performance.now()
        isOk = chunk.subarray(9, 12).toString('latin1') === '200'
      }
      last = Buffer.concat([last, chunk]).subarray(-tail.length)
      if (last.equals(tail) || !isOk) over()
      // What follows a refusal is not understood, so the connection is of no more use.
      if (!isOk) socket.destroy()
    }
    socket.on('data', onData).once('close', onClose)
    socket.write(request)
  })
}

const HOLD_WITHIN_MS = 10_000

async function hold(target: Target): Promise<Socket> {
  const socket = await open(target)
  socket.write(requestText(target, 'hold'))
  // A proxy that takes no more streams ends the bench instead of holding it up.
  await once(socket, 'data', { signal: AbortSignal.timeout(HOLD_WITHIN_MS) })
  return socket
}

async function open({ port }: Target): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

function requestText({ port, headers }: Target, kind: Kind): string {
  const body = requestBody(kind)
  const all = {
    host: `127.0.0.1:${port}`,
    'content-type': 'application/json',
    'content-length': body.length,
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${PATH} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
