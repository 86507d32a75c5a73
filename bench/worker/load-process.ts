import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { MODEL_HEADER } from '../../src/api/data-port.ts'
import { DATA_KEY, MODEL_NAME, paths, SMALL_BODY, STREAM_END, type Done, type Target, type Work } from './messages.ts'

/**
 * The client. It writes requests as bytes and looks for the end of answers in bytes: an HTTP client would cost more than
 * what is measured.
 */
const held: Socket[] = []
process.on('message', (work: Work) => {
  void run(work).then((done) => process.send?.(done))
})
process.once('disconnect', () => process.exit())
process.send?.({ port: 0 })

async function run(work: Work): Promise<Done | object> {
  if (work.kind === 'requests') return measure(work, requestText(work.target, paths.small), endsWithBody)
  if (work.kind === 'streams') return measure(work, requestText(work.target, paths.stream), endsStream)
  if (work.kind === 'hold') for (let i = 0; i < work.streams; i += 1) held.push(await hold(work.target))
  else for (const socket of held.splice(0)) socket.destroy()
  return {}
}

async function measure(
  { target, connections, durationMs }: { target: Target; connections: number; durationMs: number },
  request: string,
  isEnd: (tail: Buffer) => boolean,
): Promise<Done> {
  const latenciesMs: number[] = []
  const startMs = performance.now()
  const lane = async (): Promise<void> => {
    const socket = await open(target)
    while (performance.now() - startMs < durationMs) {
      const sentMs = performance.now()
      await ask(socket, request, isEnd)
      latenciesMs.push(performance.now() - sentMs)
    }
    socket.destroy()
  }
  await Promise.all(Array.from({ length: connections }, lane))
  return { perSecond: (latenciesMs.length * 1000) / (performance.now() - startMs), latenciesMs }
}

function ask(socket: Socket, request: string, isEnd: (tail: Buffer) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (): void => reject(new Error('the connection was closed in the middle of the bench'))
    let tail: Buffer = Buffer.alloc(0)
    const onData = (chunk: Buffer): void => {
      tail = Buffer.concat([tail, chunk]).subarray(-256)
      if (!isEnd(tail)) return
      socket.off('data', onData).off('close', fail)
      resolve()
    }
    socket.on('data', onData).once('close', fail)
    socket.write(request)
  })
}

const endsWithBody = (tail: Buffer): boolean => tail.subarray(-SMALL_BODY.length).toString('latin1') === SMALL_BODY
const STREAM_TAIL = `${STREAM_END}\r\n0\r\n\r\n`
const endsStream = (tail: Buffer): boolean => tail.subarray(-STREAM_TAIL.length).toString('latin1') === STREAM_TAIL

async function hold(target: Target): Promise<Socket> {
  const socket = await open(target)
  socket.write(requestText(target, paths.hold))
  await once(socket, 'data')
  return socket
}

async function open({ port }: Target): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  await once(socket, 'connect')
  return socket
}

function requestText({ port, prefix }: Target, path: string): string {
  const body = JSON.stringify({ model: MODEL_NAME, messages: [{ role: 'user', content: 'Hello' }] })
  const headers = [
    `POST ${prefix}${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${DATA_KEY}`,
    `${MODEL_HEADER}: ${MODEL_NAME}`,
    'accept: */*',
    'content-type: application/json',
    `content-length: ${body.length}`,
  ]
  return `${headers.join('\r\n')}\r\n\r\n${body}`
}
