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
      summary: 'What is in ./nats, or the folder named; no secrets',
      arguments: [folder],
      examples: ['flotilla nats'],
    },
    {
      name: 'setup',
      summary: 'Write the configuration of the server and the keys, into ./nats or the folder named',
      arguments: [folder],
      flags: { listen: { value: 'host:port', help: 'Where the server listens; 0.0.0.0:4222 without it' } },
      examples: ['flotilla nats setup', 'flotilla nats setup /etc/flotilla/nats --listen 10.0.0.2:4222'],
    },
    {
      name: 'rotate',
      summary: 'Make another signing key; the old one is taken until it is retired',
      arguments: [folder],
      flags: { retire: { help: 'Make none, but no longer take any but the newest' } },
      examples: ['flotilla nats rotate', 'flotilla nats rotate --retire'],
    },
    {
      name: 'revoke',
      summary: 'No longer take what was signed so far for a key: of a node that was removed, or stolen',
      arguments: [{ name: 'public-key' }, folder],
      about:
        'Without it a node that was removed from the cluster could use the bus for up to an hour, until its user ends.',
      examples: ['flotilla nats revoke UABC…'],
    },
  ],
}
