import { clientOptions, type Command } from '../command.ts'

export const keysCommand: Command = {
  name: 'keys',
  summary: 'Let programs ask: see, make and revoke API keys',
  about:
    'Programs on the machine of a gateway need no key for inference while --local-inference is on\n' +
    'there; all others show one, as "Authorization: Bearer <key>" or "x-api-key: <key>". Only a hash\n' +
    'of each is kept.',
  options: clientOptions,
  examples: ['flotilla keys', 'flotilla keys create --name notebook --expires 30d', 'flotilla keys revoke notebook'],
  subcommands: [
    {
      name: 'list',
      summary: 'All keys, and what each is good for; never their text',
      examples: ['flotilla keys'],
    },
    {
      name: 'create',
      summary: 'Make a key; it is shown once',
      about: 'Prints the key alone, so that it can go into a file or a pipe.',
      oneOf: ['name'],
      flags: {
        name: { value: 'name', help: 'What it is for' },
        models: { value: 'a,b', many: true, help: 'The only models it may ask; without it all' },
        scope: {
          value: 'scope',
          help: 'inference, which is the default; read: to look at everything, and metrics; or admin: everything, like admin.key',
        },
        expires: { value: 'time', help: 'How long it works: 30m, 1h, 30d; without it for ever' },
      },
      examples: [
        'flotilla keys create --name notebook',
        'flotilla keys create --name batch --models qwen,bge-m3 > batch.key',
        'flotilla keys create --name deploy --scope admin --expires 1h',
      ],
    },
    {
      name: 'rotate',
      summary: 'Another key in place of one, without a gap',
      arguments: [{ name: 'key' }],
      about: 'The new one may do what the old one may, and is printed alone. The old one works on for a while.',
      flags: {
        overlap: { value: 'time', help: 'How long the old one works: 30m, 1h, 1d, which is the default, or 0' },
      },
      examples: ['flotilla keys rotate notebook > notebook.key', 'flotilla keys rotate notebook --overlap 1h'],
    },
    {
      name: 'rotate-admin',
      summary: 'Another admin key for this frontend; the old one ends at once',
      about:
        'Prints the new one alone; admin.key in the data folder of the frontend holds it, too. Sessions of the dashboard that\n' +
        'an admin key began have ended then. Each frontend has an admin key of its own: name the frontend with --url.',
      examples: ['flotilla keys rotate-admin'],
    },
    {
      name: 'revoke',
      summary: 'End a key; gateways refuse it from then on',
      arguments: [{ name: 'key' }],
      about: 'A key is named by its id, the first four or more characters of it, or its name.',
      examples: ['flotilla keys revoke notebook'],
    },
  ],
}
