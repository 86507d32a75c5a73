import { clientOptions, type Command } from '../command.ts'

export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'Look for what is wrong on this machine and in its cluster',
  about:
    'Looks at this machine (Node.js, data folder, disk, tools of GPUs, ports, database and bus that are configured) and, when\n' +
    'there is a cluster, at its frontend (store, bus, clock, certificate, version) and at the ports of its nodes, and says what\n' +
    'to do. Changes nothing. Exit code 1 when something is broken; things to know do not count.',
  options: [...clientOptions, 'listen', 'worker_listen', 'join', 'database_url', 'nats_url'],
  examples: ['flotilla doctor', 'flotilla doctor --json', 'flotilla doctor --url http://frontend:8080'],
}
