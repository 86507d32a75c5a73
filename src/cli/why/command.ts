import { clientOptions, type Command } from '../command.ts'

export const whyCommand: Command = {
  name: 'why',
  summary: 'See how a request was routed, and why there',
  about:
    'Every answer of the gateway has an X-Request-Id header; this shows what the gateway knew when that request came, which\n' +
    'replicas it tried and what became of them. Gateways keep records in memory, for a while and not of every request.',
  options: clientOptions,
  arguments: [{ name: 'request-id' }],
  examples: ['flotilla why 0198c7a0-5555-7000-8000-000000000001', 'flotilla why my-own-id --json'],
}
