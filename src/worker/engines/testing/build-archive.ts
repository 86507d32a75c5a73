import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { crc32, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { Header, type HeaderData } from 'tar'

export interface ArchiveEntry {
  path: string
  content?: string | Buffer
  mode?: number
  type?: 'File' | 'Directory' | 'SymbolicLink' | 'Link' | 'CharacterDevice' | 'FIFO'
  linkpath?: string
}

const BLOCK = 512

/** A tar with exactly these entries, however evil: no program would pack some of them. */
export function tarOf(entries: readonly ArchiveEntry[]): Buffer {
  const blocks = entries.flatMap(({ path, content = '', mode = 0o644, type = 'File', linkpath }) => {
    const body = Buffer.from(content)
    const data: HeaderData = { path, mode, type, size: body.length, mtime: new Date(0), ...(linkpath && { linkpath }) }
    const head = Buffer.alloc(BLOCK)
    new Header(data).encode(head)
    return [head, body, Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK)]
  })
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)])
}

export function tarGzOf(entries: readonly ArchiveEntry[]): Buffer {
  return gzipSync(tarOf(entries))
}

export function tarZstOf(entries: readonly ArchiveEntry[]): Buffer {
  return zstdCompressSync(tarOf(entries))
}

const UNIX_TYPE = {
  File: 0o100000,
  Directory: 0o040000,
  SymbolicLink: 0o120000,
  CharacterDevice: 0o020000,
  FIFO: 0o010000,
}

/** A zip made on Unix with exactly these entries. */
export function zipOf(entries: readonly ArchiveEntry[]): Buffer {
  const locals: Buffer[] = []
  const centrals: Buffer[] = []
  let offset = 0
  for (const { path, content = '', mode = 0o644, type = 'File', linkpath } of entries) {
    const name = Buffer.from(path)
    const plain = Buffer.from(type === 'SymbolicLink' ? (linkpath ?? '') : content)
    const packed = deflateRawSync(plain)
    const shared = Buffer.alloc(26)
    shared.writeUInt16LE(20, 0)
    shared.writeUInt16LE(0x0800, 2)
    shared.writeUInt16LE(8, 4)
    shared.writeUInt32LE(crc32(plain), 10)
    shared.writeUInt32LE(packed.length, 14)
    shared.writeUInt32LE(plain.length, 18)
    shared.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), shared, name, packed])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(((UNIX_TYPE[type as keyof typeof UNIX_TYPE] | mode) << 16) >>> 0, 6)
    tail.writeUInt32LE(offset, 10)
    centrals.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 3]), shared, tail, name]))
    locals.push(local)
    offset += local.length
  }
  const central = Buffer.concat(centrals)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...locals, central, end])
}

/** Writes an archive and says how an install names it. */
export function archiveAt(path: string, content: Buffer): { url: string; sha256: string } {
  writeFileSync(path, content)
  const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex')
  return { url: pathToFileURL(path).href, sha256 }
}
