import type { Command } from '../command.ts'

const folder = { name: 'folder', optional: true } as const

export const natsCommand: Command = {
  name: 'nats',
  summary: 'Set up a NATS server on which every node has a user of its own',
  about:
    'Writes what a nats-server needs to tell the machines of a cluster apart: an operator, an account, and the key that\n' +
    'frontends sign their users with. No other tool is needed, and the files stay where they are written.',
  options: ['json'],
  examples: ['flotilla nats setup', 'flotilla nats rotate', 'flotilla nats revoke UABC…'],
  subcommands: [
    {
      name: 'show',
      summary: 'What there is; no secrets',
      arguments: [folder],
      examples: ['flotilla nats'],
    },
    {
      name: 'setup',
      summary: 'Write configuration and keys, into ./nats',
      arguments: [folder],
      flags: { listen: { value: 'host:port', help: 'Where the server listens; 0.0.0.0:4222 without it' } },
      examples: ['flotilla nats setup', 'flotilla nats setup /etc/flotilla/nats --listen 10.0.0.2:4222'],
    },
    {
      name: 'rotate',
      summary: 'Another signing key, beside the old one',
      arguments: [folder],
      flags: { retire: { help: 'Make none, but no longer take any but the newest' } },
      examples: ['flotilla nats rotate', 'flotilla nats rotate --retire'],
    },
    {
      name: 'revoke',
      summary: 'End what was signed for a key so far',
      arguments: [{ name: 'public-key' }, folder],
      about:
        'For a node that was removed, or stolen. Without it one that was removed from the cluster could use the bus for up to an hour, until its user ends.',
      examples: ['flotilla nats revoke UABC…'],
    },
  ],
}
