import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tarGzOf, tarOf, zipOf, type ArchiveEntry } from '../../src/worker/engines/testing/build-archive.ts'
import { unpack } from '../../src/worker/engines/unpack/unpack.ts'
import { spoiled } from '../spoil.ts'
import { insist, isTyped, mayRefuseLater, type FuzzTarget } from '../target.ts'

const entries: ArchiveEntry[] = [
  { path: 'bin/', type: 'Directory', mode: 0o755 },
  { path: 'bin/server', content: 'program', mode: 0o755 },
  { path: 'lib/x', content: 'x'.repeat(300) },
]
const links: ArchiveEntry[] = [
  { path: 'a', content: 'a' },
  { path: 'b', type: 'SymbolicLink', linkpath: 'a' },
]
const words = ['../', '/etc/', '\0', 'PK\x01\x02', 'PK\x05\x06', 'ustar', '0000777', 'bin/server', '\xff\xff\xff\xff']
const limits = { mostEntries: 100, mostBytes: 1_000_000, mostRatio: 100, ratioFromBytes: 100_000 }
/** What a file system says of a name is a refusal as well: too long, or not possible. */
const isRefusal = (error: unknown): boolean =>
  isTyped(error) ||
  ['ENAMETOOLONG', 'EINVAL', 'EEXIST', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')

export const archiveTargets: readonly FuzzTarget[] = [
  {
    name: 'tar',
    reads: 'a tar with an engine in it, plain or compressed',
    share: 0.1,
    cases: spoiled([tarOf(entries), tarOf([...entries, ...links]), tarGzOf(entries)], words),
    read: readArchive,
  },
  {
    name: 'zip',
    reads: 'a zip with an engine in it',
    share: 0.1,
    cases: spoiled([zipOf(entries), zipOf(links)], words),
    read: readArchive,
  },
]

async function readArchive(bytes: Buffer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-fuzz-'))
  try {
    writeFileSync(join(folder, 'archive'), bytes)
    writeFileSync(join(folder, 'outside'), 'untouched')
    mkdirSync(join(folder, 'in', 'to'), { recursive: true })
    const hooks = { signal: new AbortController().signal, onProgress: () => {}, limits }
    await mayRefuseLater(() => unpack(join(folder, 'archive'), join(folder, 'in', 'to'), hooks), isRefusal)
    insist(readFileSync(join(folder, 'outside'), 'utf8') === 'untouched', 'wrote outside of its folder')
    insist(readdirSync(folder).length === 3 && readdirSync(join(folder, 'in')).length === 1, 'made something outside')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
