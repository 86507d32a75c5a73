import { open, readdir, readlink } from 'node:fs/promises'
import { membersOf } from './engine-members.ts'
import type { ProcessIdentity } from './process-identity.ts'

export interface Listener {
  /** The engine accepts connections from this machine only. Also true when it does not listen there at all. */
  isLoopbackOnly: boolean
  /** A connection to 127.0.0.1 reaches this engine, and no other program. */
  isOurs: boolean
}

/**
 * Which process listens on a port of this machine. An answer on that port proves nothing: another worker's engine may
 * have taken it at the same moment, and programs that share ports (SO_REUSEPORT) even answer in turns. Undefined where
 * it is unknown: without /proc, or for an engine of another user.
 */
export async function listenerOf(port: number, identity: ProcessIdentity): Promise<Listener | undefined> {
  const sockets = await socketsOn(port)
  if (!sockets) return undefined
  const held = await socketsOf(identity)
  if (!held) return undefined
  const ours = sockets.filter(({ inode }) => held.has(inode))
  const exact = sockets.filter(({ reach }) => reach === '127.0.0.1')
  // A listener on 127.0.0.1 gets a connection before a listener on all addresses.
  const answering = exact.length > 0 ? exact : sockets.filter(({ reach }) => reach === 'all')
  return {
    isLoopbackOnly: ours.every(({ reach }) => reach === '127.0.0.1' || reach === 'loopback'),
    isOurs: answering.length > 0 && answering.every(({ inode }) => held.has(inode)),
  }
}

interface ListeningSocket {
  inode: string
  reach: '127.0.0.1' | 'loopback' | 'all' | 'one address'
}

async function socketsOn(port: number): Promise<ListeningSocket[] | undefined> {
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map(readStart))
  // A machine without IPv6 has no second table.
  if (tables[0] === undefined) return undefined
  return tables.flatMap((table) => parseTable(table ?? '', port))
}

/** The kernel lists listening sockets first: this is enough for 6000 of them, whatever the number of connections. */
const MOST_TABLE_BYTES = 1024 * 1024

async function readStart(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path)
    const buffer = Buffer.alloc(MOST_TABLE_BYTES)
    let filled = 0
    while (filled < buffer.length) {
      const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, null)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return buffer.toString('latin1', 0, filled)
  } catch {
    return undefined
  }
}

const LISTEN = '0A'

/** Lines like `0: 0100007F:1F90 00000000:0000 0A … inode …`, numbers in hex, addresses in this machine's byte order. */
export function parseTable(table: string, port: number): ListeningSocket[] {
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/)
    const [address = '', hexPort = ''] = local.split(':')
    return state === LISTEN && inode && Number.parseInt(hexPort, 16) === port
      ? [{ inode, reach: reachOf(address) }]
      : []
  })
}

const MAPPED = '0000000000000000FFFF0000'

function reachOf(address: string): ListeningSocket['reach'] {
  const v4 = address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address
  if (v4 === '0100007F') return '127.0.0.1'
  if (/^0+$/.test(v4)) return 'all'
  const isLoopback = v4.length === 8 ? v4.endsWith('7F') : address === '00000000000000000000000001000000'
  return isLoopback ? 'loopback' : 'one address'
}

/** The inodes of every socket an engine has open. */
async function socketsOf(identity: ProcessIdentity): Promise<Set<string> | undefined> {
  const members = await membersOf(identity, { byGroup: true, byMark: true })
  if (!members) return undefined
  const inodes = new Set<string>()
  for (const { pid } of members) {
    let names: string[]
    try {
      names = await readdir(`/proc/${pid}/fd`)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EACCES') return undefined
      continue
    }
    const links = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')))
    for (const link of links) if (link.startsWith('socket:[')) inodes.add(link.slice('socket:['.length, -1))
  }
  return inodes
}
