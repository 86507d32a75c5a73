import { Duplex } from 'node:stream'
import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { until } from '../../../test/support/until.ts'
import { readHead, type WireHead } from './read-head.ts'
import { WireRequest } from './fast-request.ts'

/** A request of which the head has come, and what it tells of its body. */
function aRequest(framing: string) {
  const bytes = Buffer.from(`POST /x HTTP/1.1\r\nhost: a\r\n${framing}\r\n\r\n`)
  const told: string[] = []
  const socket = new Duplex() as unknown as Socket
  const request = new WireRequest(readHead(bytes, '/', 1000) as WireHead, socket, () => told.push('room'))
  const listen = (): void => {
    request.on('data', (piece) => told.push(piece.toString()))
    request.once('end', () => told.push('end'))
    request.once('close', () => told.push('close'))
  }
  return { request, told, listen }
}

describe('a body', () => {
  test('that came with its head is there at once, and goes to a listener', async () => {
    const { request, told, listen } = aRequest('content-length: 2')
    expect(request.begin(Buffer.from('hinext')).toString()).toBe('next')
    expect(request).toMatchObject({ complete: true, whole: Buffer.from('hi') })
    listen()
    await until(() => told.includes('end'))
    expect(told).toEqual(['hi', 'end'])
  })

  test('that comes later is told piece by piece, and its end once', async () => {
    const { request, told, listen } = aRequest('transfer-encoding: chunked')
    listen()
    expect(request.begin(Buffer.from('1\r\na\r\n'))).toHaveLength(0)
    await until(() => told.includes('room'))
    expect(request.push(Buffer.from('1\r\nb\r\n0\r\n\r\nnext')).toString()).toBe('next')
    request.pause().resume()
    await until(() => told.includes('end'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(told).toEqual(['a', 'room', 'b', 'end'])
  })

  test('waits for a handler that does not read yet', async () => {
    const { request, told, listen } = aRequest('content-length: 4')
    request.begin(Buffer.from('ab'))
    request.pause()
    listen()
    request.push(Buffer.from('cd'))
    await new Promise((resolve) => setImmediate(resolve))
    expect([told, request.readableLength, request.complete]).toEqual([[], 4, true])
    request.resume()
    await until(() => told.includes('end'))
    expect(told).toEqual(['ab', 'cd', 'end'])
  })

  test('that will not come any more is told by the end of the connection', () => {
    const { request, told, listen } = aRequest('content-length: 4')
    listen()
    request.begin(Buffer.from('ab'))
    request.cut()
    expect(request).toMatchObject({ complete: false, destroyed: true })
    expect(told).toContain('close')
  })
})
