import { inboxPrefix, subjects, type BusRole, type SubjectName } from '../api/bus/subjects.ts'

/** A client of the bus, as the matrix has them: two of each kind that there may be several of. */
export interface BusClient {
  name: string
  role: BusRole
  id: string
}

export const busClients: readonly BusClient[] = [
  { name: 'control', role: 'control', id: 'c' },
  { name: 'gateway 1', role: 'gateway', id: 'g1' },
  { name: 'gateway 2', role: 'gateway', id: 'g2' },
  { name: 'node A', role: 'node', id: 'a' },
  { name: 'node B', role: 'node', id: 'b' },
]

/** One subject or pattern, and what each client may do with it. */
export interface MatrixRow {
  subject: string
  /** Patterns are only listened to. */
  isPattern: boolean
  maySay(client: BusClient): boolean
  mayHear(client: BusClient): boolean
}

const nobody = (): boolean => false

/**
 * Every subject of the table, for each of two nodes where it is a node's; every inbox; and patterns that would take in what is
 * not one's own. What is expected is said here in words of its own, and not by what makes the permissions.
 */
export const matrixRows: readonly MatrixRow[] = [
  ...(Object.keys(subjects) as SubjectName[]).flatMap(rowsOf),
  ...busClients.map(inboxRow),
  ...['>', '*.>', 'nodes.>', 'nodes.*.>', 'nodes.a.>', 'nodes.b.>', '_INBOX.>', '_INBOX.*.*.>', '$SYS.>'].map(
    forNobody,
  ),
  ...(['heartbeat', 'replicaStart'] as const).map(ofAllNodes),
]

function rowsOf(name: SubjectName): MatrixRow[] {
  const { template, from, to } = subjects[name]
  const isFor = (roles: readonly BusRole[], { role, id }: BusClient, nodeId: string | undefined): boolean =>
    roles.includes(role) && (role !== 'node' || id === nodeId)
  const row = (nodeId?: string): MatrixRow => ({
    subject: template.replace('{node}', nodeId ?? ''),
    isPattern: false,
    maySay: (client) => isFor(from, client, nodeId),
    mayHear: (client) => isFor(to, client, nodeId),
  })
  return template.includes('{node}') ? [row('a'), row('b')] : [row()]
}

/** Answers reach the asker, and no client may write there unasked. */
function inboxRow({ role, id }: BusClient): MatrixRow {
  const isOwner = (client: BusClient): boolean => client.role === role && client.id === id
  return { subject: `${inboxPrefix(role, id)}.x`, isPattern: false, maySay: nobody, mayHear: isOwner }
}

function forNobody(subject: string): MatrixRow {
  return { subject, isPattern: true, maySay: nobody, mayHear: nobody }
}

/** A client that may hear a subject of every node may listen to all at once. */
function ofAllNodes(name: 'heartbeat' | 'replicaStart'): MatrixRow {
  const { template, to } = subjects[name]
  const mayHear = ({ role }: BusClient): boolean => role !== 'node' && (to as readonly BusRole[]).includes(role)
  return { subject: template.replace('{node}', '*'), isPattern: true, maySay: nobody, mayHear }
}

/** docs/reference/bus-permissions.md: what is tried, as a table. */
export function matrixPage(): string {
  const heads = busClients.map(({ name }) => name)
  const cells = (row: MatrixRow): string[] =>
    busClients.map((client) => {
      const may = [row.maySay(client) ? 'says' : '', row.mayHear(client) ? 'hears' : ''].filter(Boolean)
      return may.join(', ') || '–'
    })
  const lines = matrixRows.map((row) => `| \`${row.subject}\` | ${cells(row).join(' | ')} |`)
  return `# What each client may say and hear on the bus

Made from [the table of subjects](../../src/api/bus/subjects.ts), from which the permissions are made as well. A test
([permission-matrix.nats.test.ts](../../src/bus/permission-matrix.nats.test.ts)) tries every cell, each way, on the embedded broker and on
a NATS server with the accounts of \`flotilla nats setup\`. A dash is a refusal. Two nodes and two gateways stand for all: what one node may say
for itself, or hear, no other may.

No client may write into an inbox: answers go there, one for each request that has reached its responder. Patterns are only listened to.

A request names the subject of its answer. The embedded broker refuses one that is not below the asker's own inbox. A NATS server has no
permission for that, so the processes hold it themselves, on either: they never answer an event, and answer a request only below the inbox of a role
that may send it (\`_INBOX.gateway.…\` for control, \`_INBOX.control.…\` for a node). What remains on a NATS server: a gateway can have an answer to its own
request sent to the inbox of another gateway, which drops it, since the last two tokens of the subject it waits on are 128 random bits each.

What a client may send is also bounded in size and rate. Control reads 50 heartbeats and 2 MiB a second of one node (200 and 8 MiB at once), each at
most 512 KiB, and drops the rest unread, with one line a minute in the log.

| subject | ${heads.join(' | ')} |
|---|${heads.map(() => '---|').join('')}
${lines.join('\n')}
`
}
