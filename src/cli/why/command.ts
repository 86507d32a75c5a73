import { clientOptions, type Command } from '../command.ts'

export const whyCommand: Command = {
  name: 'why',
  summary: 'See why a model runs where it runs, or how a request was routed',
  about:
    'Of a model: where it runs, where it could and why not elsewhere, what it needs, what was decided last and what is\n' +
    'next. Of a request, by the X-Request-Id header of its answer: which replicas were tried and what became of them.\n' +
    'Gateways keep records of requests in memory, for a while and not of every request.',
  options: clientOptions,
  arguments: [{ name: 'model or request-id' }],
  examples: ['flotilla why qwen', 'flotilla why 0198c7a0-5555-7000-8000-000000000001', 'flotilla why qwen --json'],
}
