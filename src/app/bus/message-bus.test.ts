import { expect, test } from 'vitest'
import { openMessageBus, type MessageBusOptions } from './message-bus.ts'
import { silentLogger } from '../../platform/run/log.ts'

const named: MessageBusOptions = {
  natsUrl: 'nats://10.0.0.9:4222',
  accountSeedFile: undefined,
  isInsecure: false,
  listen: undefined,
  defaultHost: '127.0.0.1',
  approved: [],
}

test('a NATS server elsewhere without accounts is refused with what to do, unless that is wanted', async () => {
  await expect(openMessageBus(named, silentLogger)).rejects.toThrow(/flotilla nats setup .*--insecure/)
  expect((await openMessageBus({ ...named, isInsecure: true }, silentLogger)).url).toBe('nats://10.0.0.9:4222')
})

test('one on this machine is taken with a warning', async () => {
  const warnings: string[] = []
  const log = { ...silentLogger, warn: (text: string) => void warnings.push(text) } as never
  await openMessageBus({ ...named, natsUrl: 'nats://127.0.0.1:4222' }, log)
  expect(warnings).toEqual([expect.stringContaining('any node can pass itself off as another')])
})
