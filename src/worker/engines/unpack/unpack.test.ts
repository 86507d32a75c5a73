import { randomBytes } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { gzipSync } from 'node:zlib'
import { tempFolder } from '../../../../test/support/temp-folder.ts'
import { tarGzOf, tarOf, tarZstOf, zipOf, type ArchiveEntry } from '../testing/build-archive.ts'
import { unpackLimits, type UnpackLimits } from './tree-writer.ts'
import { unpack } from './unpack.ts'

const formats = { tar: tarOf, 'tar.gz': tarGzOf, 'tar.zst': tarZstOf, zip: zipOf }
/** Zips have no hard links. */
const tars = { tar: tarOf, 'tar.gz': tarGzOf, 'tar.zst': tarZstOf }

function aScene(content: Buffer): { archive: string; into: string; outside: string } {
  const folder = tempFolder()
  const scene = { archive: join(folder, 'archive'), into: join(folder, 'in', 'to'), outside: join(folder, 'outside') }
  mkdirSync(scene.into, { recursive: true })
  writeFileSync(scene.archive, content)
  writeFileSync(scene.outside, 'untouched')
  return scene
}

function unpacking(
  { archive, into }: { archive: string; into: string },
  limits: Partial<UnpackLimits> = {},
  signal = new AbortController().signal,
): Promise<string> {
  return unpack(archive, into, { signal, onProgress: () => {}, limits: { ...unpackLimits, ...limits } })
}

describe.each(Object.entries(formats))('%s', (_, pack) => {
  test('files, folders and links come out as they went in', async () => {
    const scene = aScene(
      pack([
        { path: 'bin/', type: 'Directory', mode: 0o755 },
        { path: 'bin/server', content: '#!/bin/sh\n', mode: 0o755 },
        { path: 'lib/libx.so.1', content: 'x'.repeat(100_000) },
        { path: 'lib/libx.so', type: 'SymbolicLink', linkpath: 'libx.so.1' },
        { path: 'bin/lib', type: 'SymbolicLink', linkpath: '../lib' },
      ]),
    )
    expect(await unpacking(scene)).toBe(scene.into)
    expect(statSync(join(scene.into, 'bin/server')).mode & 0o777).toBe(0o755)
    expect(readFileSync(join(scene.into, 'bin/lib/libx.so'), 'utf8')).toHaveLength(100_000)
    expect(readlinkSync(join(scene.into, 'lib/libx.so'))).toBe('libx.so.1')
  })

  test('a single folder at the top is left out', async () => {
    const scene = aScene(
      pack([
        { path: 'engine-1.0/server', content: 'x' },
        { path: 'engine-1.0/latest', type: 'SymbolicLink', linkpath: 'server' },
      ]),
    )
    const folder = await unpacking(scene)
    expect(readdirSync(folder).toSorted()).toEqual(['latest', 'server'])
  })

  const evil: Record<string, [ArchiveEntry[], RegExp]> = {
    'a path with ..': [[{ path: '../outside', content: 'evil' }], /leads out of it|invalid relative path/],
    'a path with .. in the middle': [[{ path: 'a/../../../outside' }], /leads out of it|invalid relative path/],
    'an absolute path': [[{ path: '/tmp/flotilla-evil', content: 'evil' }], /absolute path/],
    'a link that leads out': [[{ path: 'out', type: 'SymbolicLink', linkpath: '../../outside' }], /leads out of it/],
    'an absolute link': [[{ path: 'out', type: 'SymbolicLink', linkpath: '/etc/passwd' }], /leads out of it/],
    'a link out of the folder that is left out': [
      [{ path: 'top/server' }, { path: 'top/out', type: 'SymbolicLink', linkpath: '../top/server' }],
      /leads out of it/,
    ],
    'a write through a link': [
      [
        { path: 'dir', type: 'SymbolicLink', linkpath: '../../' },
        { path: 'dir/outside', content: 'evil' },
      ],
      /through a link/,
    ],
    'a write through a link that comes later': [
      [
        { path: 'dir/outside', content: 'evil' },
        { path: 'dir', type: 'SymbolicLink', linkpath: '../../' },
      ],
      /more than once/,
    ],
    'a file twice': [[{ path: 'a' }, { path: './a' }], /more than once/],
    'a file below a file': [[{ path: 'a' }, { path: 'a/b' }], /below a file/],
    'a device': [[{ path: 'null', type: 'CharacterDevice' }], /device/i],
    'a pipe': [[{ path: 'pipe', type: 'FIFO' }], /FIFO|device/],
  }
  test.each(Object.entries(evil))('%s is refused', async (_, [entries, reason]) => {
    const scene = aScene(pack(entries))
    await expect(unpacking(scene)).rejects.toThrow(reason)
    expect(readFileSync(scene.outside, 'utf8')).toBe('untouched')
    expect(existsSync('/tmp/flotilla-evil')).toBe(false)
  })

  test('links that only together lead out are refused, or end inside', async () => {
    // `b` is the folder itself, so that `a` is two folders above it by the file system, but not by its text.
    const entries: ArchiveEntry[] = [
      { path: 'p/q/file' },
      { path: 'p/q/b', type: 'SymbolicLink', linkpath: '../..' },
      { path: 'p/q/a', type: 'SymbolicLink', linkpath: 'b/../..' },
      { path: 'x' },
    ]
    const scene = aScene(pack(entries))
    await unpacking(scene)
    expect(readlinkSync(join(scene.into, 'p/q/a'))).toBe('..')
  })

  test('an archive that is cut off is refused', async () => {
    const whole = pack([{ path: 'server', content: Buffer.alloc(200_000, 7) }])
    const scene = aScene(whole.subarray(0, Math.floor(whole.length / 2)))
    await expect(unpacking(scene)).rejects.toThrow(/archive/i)
  })

  test('too many entries are refused', async () => {
    const scene = aScene(pack(Array.from({ length: 11 }, (_, index) => ({ path: `f${index}` }))))
    await expect(unpacking(scene, { mostEntries: 10 })).rejects.toThrow('more than 10 entries')
  })

  test('too many bytes are refused', async () => {
    const scene = aScene(pack([{ path: 'big', content: Buffer.alloc(300_000) }]))
    await expect(unpacking(scene, { mostBytes: 200_000 })).rejects.toThrow('more than 200000 bytes')
  })

  test('it stops when it is cancelled', async () => {
    const scene = aScene(pack([{ path: 'a', content: 'x' }]))
    await expect(unpacking(scene, {}, AbortSignal.abort(new Error('cancelled')))).rejects.toThrow('cancelled')
  })

  test('it stops in the middle of a file when it is cancelled', async () => {
    const { archive, into } = aScene(pack([{ path: 'a', content: randomBytes(3_000_000) }, { path: 'b' }]))
    const cancel = new AbortController()
    const onProgress = (_: string, doneBytes: number): void => {
      if (doneBytes > 0) cancel.abort(new Error('cancelled'))
    }
    await expect(unpack(archive, into, { signal: cancel.signal, onProgress })).rejects.toThrow('cancelled')
    expect(statSync(join(into, 'a')).size).toBeLessThan(3_000_000)
  })

  test('nothing becomes setuid', async () => {
    const scene = aScene(pack([{ path: 'server', mode: 0o4777 }, { path: 'other' }]))
    await unpacking(scene)
    expect(lstatSync(join(scene.into, 'server')).mode & 0o7777).toBe(0o755)
  })
})

test.each(['tar.gz', 'tar.zst', 'zip'] as const)('a bomb in a %s is given up', async (format) => {
  const scene = aScene(formats[format]([{ path: 'bomb', content: Buffer.alloc(20_000_000) }]))
  await expect(unpacking(scene, { ratioFromBytes: 1_000_000 })).rejects.toThrow(/times its own size/)
})

test('a bomb of headers without files is given up', async () => {
  const padding = Buffer.alloc(20_000_000)
  const scene = aScene(gzipSync(Buffer.concat([tarOf([{ path: 'a' }]), padding])))
  await expect(unpacking(scene, { ratioFromBytes: 1_000_000 })).rejects.toThrow(/times its own size/)
})

test('a tar that is compressed twice is refused', async () => {
  await expect(unpacking(aScene(gzipSync(tarGzOf([{ path: 'a' }]))))).rejects.toThrow('compressed twice')
})

describe.each(Object.entries(tars))('%s', (_, pack) => {
  test('a hard link is a second name of a file in it', async () => {
    const scene = aScene(
      pack([
        { path: 'a', content: 'x' },
        { path: 'b', type: 'Link', linkpath: 'a' },
      ]),
    )
    await unpacking(scene)
    expect(statSync(join(scene.into, 'b')).ino).toBe(statSync(join(scene.into, 'a')).ino)
  })

  test.each(['../../outside', '/etc/passwd', 'nowhere'])('a hard link to %s is refused', async (linkpath) => {
    const scene = aScene(pack([{ path: 'b', type: 'Link', linkpath }]))
    await expect(unpacking(scene)).rejects.toThrow(/not safe/)
  })

  test('a hard link to a link is refused', async () => {
    const entries: ArchiveEntry[] = [
      { path: 'a', type: 'SymbolicLink', linkpath: 'b' },
      { path: 'c', type: 'Link', linkpath: 'a' },
    ]
    await expect(unpacking(aScene(pack(entries)))).rejects.toThrow('not in the archive')
  })
})

test.each([
  ['text', Buffer.from('this is no archive, whatever its name says. '.repeat(30)), /cannot be read/],
  ['an empty file', Buffer.alloc(0), /cannot be read/],
  ['xz', Buffer.concat([Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a]), Buffer.alloc(600)]), /xz or bzip2/],
])('%s is refused', async (_, content, reason) => {
  await expect(unpacking(aScene(content))).rejects.toThrow(reason)
})

test('whatever an archive says, nothing is written outside and no link leads there', async () => {
  const part = fc.constantFrom('a', 'b', '..', '.', 'c')
  const path = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'))
  const entry = fc.record({
    path,
    content: fc.constant('evil'),
    type: fc.constantFrom('File', 'Directory', 'SymbolicLink', 'Link'),
    linkpath: path,
  }) as fc.Arbitrary<ArchiveEntry>
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 8 }), async (entries) => {
      const scene = aScene(tarOf(entries))
      await unpacking(scene).catch(() => {})
      expect(readFileSync(scene.outside, 'utf8')).toBe('untouched')
      expect(readdirSync(join(scene.into, '..'))).toEqual(['to'])
      for (const name of readdirSync(scene.into, { recursive: true }) as string[]) {
        const file = join(scene.into, name)
        const real = lstatSync(file).isSymbolicLink() && existsSync(file) ? realpathSync(file) : file
        expect(real.startsWith(scene.into)).toBe(true)
      }
    }),
    { numRuns: 200 },
  )
})
