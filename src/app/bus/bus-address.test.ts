import { expect, test } from 'vitest'
import { busUrlFor, peerOf } from './bus-address.ts'
import { serve } from '../../../test/support/http/http.ts'

const bus = (host: string) => ({ protocol: 'nats:', listen: { host, port: 4222 }, flag: '--bus-listen 0.0.0.0:4222' })
const local = { remoteHost: '127.0.0.1', reachedAs: 'localhost' }
const remote = { remoteHost: '10.0.0.7', reachedAs: 'frontend.lan' }

test.each([
  ['on all interfaces is where the worker found the frontend', '0.0.0.0', remote, 'nats://frontend.lan:4222'],
  ['on all interfaces is on loopback for a worker beside it', '::', local, 'nats://localhost:4222'],
  ['on one interface is there', '10.0.0.1', remote, 'nats://10.0.0.1:4222'],
  ['on loopback is there for a worker beside it', '127.0.0.1', local, 'nats://127.0.0.1:4222'],
  ['with an IPv6 address is written with brackets', 'fd00::1', remote, 'nats://[fd00::1]:4222'],
])('a bus %s', (_, host, peer, url) => {
  expect(busUrlFor(peer, bus(host))).toBe(url)
})

test('a bus on loopback is out of reach of other machines, and the error names the flag', () => {
  expect(() => busUrlFor(remote, bus('127.0.0.1'))).toThrow(
    "This frontend's bus is at 127.0.0.1:4222, which other machines cannot reach. Start the frontend with --bus-listen 0.0.0.0:4222.",
  )
})

test.each([
  ['the host that was named', { host: 'frontend.lan:8080' }, 'frontend.lan'],
  ['the address that was reached, when what was named is none', { host: '0.0.0.0:8080' }, '127.0.0.1'],
  ['nothing that is no host', { host: 'nats://evil/?' }, '127.0.0.1'],
])('a peer reached us as %s', async (_, headers, reachedAs) => {
  let seen: unknown
  const url = await serve((request, response) => {
    Object.assign(request.headers, headers)
    seen = peerOf(request)
    response.end()
  })
  await fetch(url)
  expect(seen).toEqual({ remoteHost: '127.0.0.1', reachedAs })
})
