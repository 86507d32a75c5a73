import type { Command } from '../command.ts'

export const dbCommand: Command = {
  name: 'db',
  summary: 'Back up, restore and check the database of a frontend',
  about:
    'Works on the database itself, as the frontend does: the SQLite file in the data folder, or the PostgreSQL of\n' +
    '--database-url. A backup fits both, so it is also the way from the one to the other.',
  options: ['data', 'database_url', 'json'],
  examples: [
    'flotilla db export flotilla-backup.jsonl.gz',
    'flotilla db import flotilla-backup.jsonl.gz --data /srv/flotilla',
    'flotilla db check',
  ],
  subcommands: [
    {
      name: 'info',
      summary: 'What is in it, and in which schema',
      examples: ['flotilla db', 'flotilla db info --json'],
    },
    {
      name: 'check',
      summary: 'Whether a frontend could start on it; exit code 1 if not',
      about:
        'Looks through the whole SQLite file, compares the migrations that were applied with those of this program, and\n' +
        'looks for tables and columns that should be there. Changes nothing.',
      examples: ['flotilla db check --data /srv/flotilla'],
    },
    {
      name: 'export',
      summary: 'Write a backup, while frontends go on',
      about:
        'Writes one state of the database, with gzip when the name ends in .gz, or to stdout without a name or with "-".\n' +
        'It holds the secret of the cluster and hashes of keys. The keys themselves are files of the data folder: see\n' +
        'docs/guide/back-up.md for what else to keep.',
      arguments: [{ name: 'file', optional: true }],
      flags: { overwrite: { help: 'Also if the file is there already' } },
      examples: [
        'flotilla db export flotilla-backup.jsonl.gz',
        'flotilla db export | ssh backup "cat > flotilla.jsonl"',
      ],
    },
    {
      name: 'rotate-secret',
      summary: 'Another secret of the cluster: new data keys and a new CA',
      about:
        'While every frontend of the cluster is stopped. Nodes stay approved: they get their new data keys and the new CA with\n' +
        'their credentials, when frontends run again. Replicas go on, and are served again from then on.',
      examples: ['flotilla db rotate-secret --data /srv/flotilla'],
    },
    {
      name: 'import',
      summary: 'Put a backup into an empty database',
      about:
        'Checks the whole file before it writes anything, and writes all of it or nothing. A backup of an older schema is\n' +
        'brought up to date on the way.',
      arguments: [{ name: 'file' }],
      flags: {
        replace: { help: 'Replace what is in the database; a backup of it is written into the data folder first' },
        'while-running': { help: 'Even if a frontend seems to run on it: what it does meanwhile is lost' },
      },
      examples: [
        'flotilla db import flotilla-backup.jsonl.gz --data /srv/flotilla',
        'flotilla db import flotilla-backup.jsonl.gz --replace',
      ],
    },
  ],
}
