import { expect, test } from 'vitest'
import { isLocalInferenceOn } from './local-inference.ts'

const loopback = { host: '127.0.0.1', port: 8080 }
const everywhere = { host: '0.0.0.0', port: 8080 }
const config = { local_inference: undefined, listen: loopback, tls: 'off', tls_cert: undefined } as const

test.each<[string, Parameters<typeof isLocalInferenceOn>[0], boolean]>([
  ['on loopback it is on', config, true],
  ['on IPv6 loopback it is on', { ...config, listen: { host: '::1', port: 1 } }, true],
  ['where other machines reach the listener it is off', { ...config, listen: everywhere }, false],
  ['with a certificate made here it is off', { ...config, tls: 'self-signed' }, false],
  ['with a given certificate it is off', { ...config, tls_cert: 'tls.crt' }, false],
  ['off is off, also on loopback', { ...config, local_inference: 'off' }, false],
  ['on is on, also elsewhere', { ...config, listen: everywhere, tls: 'self-signed', local_inference: 'on' }, true],
])('%s', (_, given, isOn) => {
  expect(isLocalInferenceOn(given)).toBe(isOn)
})
