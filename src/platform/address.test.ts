import { expect, test } from 'vitest'
import { formatAddress, hostAndPort, isLoopback, reachableAddress } from './address.ts'

test.each([
  ['127.0.0.1:8080', { host: '127.0.0.1', port: 8080 }],
  ['localhost:0', { host: 'localhost', port: 0 }],
  ['[::1]:8080', { host: '::1', port: 8080 }],
  [':8080', { host: '0.0.0.0', port: 8080 }],
])('%s is an address', (text, address) => {
  expect(hostAndPort(text)).toEqual(address)
})

test.each(['', '8080', 'host', 'host:', 'host:99999', 'host:80:80', '::1:8080', 'ho st:80', 'host:-1'])(
  '"%s" is none',
  (text) => {
    expect(hostAndPort(text)).toBeUndefined()
  },
)

test('a default port makes a bare host an address', () => {
  expect(hostAndPort('example', 80)).toEqual({ host: 'example', port: 80 })
})

test('all interfaces are reached over loopback from here', () => {
  expect(formatAddress(reachableAddress({ host: '0.0.0.0', port: 1 }))).toBe('127.0.0.1:1')
  expect(formatAddress(reachableAddress({ host: '::', port: 1 }))).toBe('[::1]:1')
})

test('loopback is told from everything that only looks like it', () => {
  expect(['localhost', '127.0.0.1', '127.8.9.1', '::1', '[::1]', '::ffff:127.0.0.1'].every(isLoopback)).toBe(true)
  expect(['127.0.0.1.evil.com', '10.0.0.1', 'localhost.evil.com', '', '0.0.0.0'].some(isLoopback)).toBe(false)
})
