import { inboxPrefix, subjects, type BusRole, type SubjectName } from '../api/bus/subjects.ts'

/** Somebody on the bus, as the matrix has them: two of each kind that there may be several of. */
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

/** One subject or pattern, and who may do what with it. */
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

/** Answers reach who asked, and nobody writes there unasked. */
function inboxRow({ role, id }: BusClient): MatrixRow {
  const isOwner = (client: BusClient): boolean => client.role === role && client.id === id
  return { subject: `${inboxPrefix(role, id)}.x`, isPattern: false, maySay: nobody, mayHear: isOwner }
}

function forNobody(subject: string): MatrixRow {
  return { subject, isPattern: true, maySay: nobody, mayHear: nobody }
}

/** Who is to hear something of every node may listen to all at once. */
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
  return `# Who may say and hear what on the bus

Made from [the table of subjects](../../src/api/bus/subjects.ts), from which the permissions are made as well. A test
([permission-matrix.nats.test.ts](../../src/bus/permission-matrix.nats.test.ts)) tries every cell, each way, on the embedded broker and on
a NATS server with the accounts of \`flotilla nats setup\`. A dash is a refusal. Two nodes and two gateways stand for all: what one node may say
for itself, or hear, no other may.

Nobody may write into an inbox: answers go there, one for each request that has reached who answers. Patterns are only listened to.

| subject | ${heads.join(' | ')} |
|---|${heads.map(() => '---|').join('')}
${lines.join('\n')}
`
}
