import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isSafePath } from '../../model-files/source/safe-path.ts'
import { parseSource, showSource, type LocalSource } from '../../model-files/source/source.ts'
import { splitParts } from '../../model-files/source/split-parts.ts'
import { pathInSharedFolder } from './shared-folder.ts'

const DIGEST = 'aB'.repeat(32)

test('sources are read as they are written', () => {
  expect(parseSource('file:/models/a b#1.gguf')).toEqual({
    kind: 'local',
    path: '/models/a b#1.gguf',
    sha256: undefined,
  })
  expect(parseSource('file:///models/a')).toMatchObject({ path: '/models/a' })
  expect(parseSource(`https://h/a/f%20x.gguf?q=1#sha256=${DIGEST}`)).toMatchObject({
    kind: 'url',
    fileName: 'f x.gguf',
    sha256: DIGEST.toLowerCase(),
  })
  const hub = { kind: 'hub', repository: 'org/re.po', revision: 'main', path: undefined }
  expect(parseSource('hf:org/re.po')).toMatchObject(hub)
  expect(parseSource('hf:org/re.po@refs/pr/1')).toMatchObject({ ...hub, revision: 'refs/pr/1' })
  expect(parseSource('hf:org/re.po/a/b@c.gguf@v1')).toMatchObject({ ...hub, path: 'a/b@c.gguf', revision: 'v1' })
  expect(parseSource('frontend:a/b/')).toMatchObject({ kind: 'frontend', path: 'a/b' })
  const { kind, path } = parseSource('bundled:skipper/skipper.gguf') as LocalSource
  expect([kind, existsSync(path)]).toEqual(['local', true])
})

test.for([
  'file:models/a',
  'file://host/a',
  'file:/a/../b',
  'file:/a\0',
  'hf:repo',
  'hf:org/',
  'hf:../repo/f',
  'hf:org/..',
  'hf:org/repo/../../x',
  'hf:org/repo//f',
  'hf:org/repo/f@../x',
  'hf:org/repo/f@',
  `hf:org/repo#sha256=${DIGEST}`,
  'frontend:../x',
  'frontend:/etc/passwd',
  'frontend:',
  'frontend:a\\b',
  'bundled:../package.json',
  'bundled:/etc/passwd',
  'bundled:',
  'https://h',
  'https://h/',
  'https://h/a%00b',
  'https://h/a%5cb',
  'https://h/%',
  'http://',
  'https://h/f#sha256=12',
  'ftp://h/f',
])('%j is refused', (text) => {
  expect(() => parseSource(text)).toThrow(/^Cannot use .* as a source of files: /)
})

test('a refusal repeats nothing secret', () => {
  expect(showSource('https://user:pa@ss@h/f?token=hunter#x')).toBe('https://h/f')
  expect(() => parseSource('https://user:hunter@h/?hunter')).toThrow(/^(?!.*hunter)/)
})

test('no path that is called safe leads out of a folder', () => {
  const pieces = fc.constantFrom('..', '.', '/', '\\', 'a', '\0', '%2e', ' ', '...', '', '~', 'é')
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.array(pieces).map((parts) => parts.join('')),
      ),
      (path) => {
        fc.pre(isSafePath(path))
        const inside = relative('/folder', join('/folder', path))
        expect(inside).toBe(path)
        expect(inside.startsWith('..')).toBe(path.startsWith('...') || /^\.\.[^/]/.test(path))
      },
    ),
  )
})

test('no source of any kind leads out of a shared folder', () => {
  const pieces = fc.constantFrom('..', '.', '/', '\\', 'a', '%2e', '%2f', '@', '#', '?', 'org/repo')
  const schemes = fc.constantFrom('hf:', 'hf:org/repo/', 'frontend:', 'https://h/', 'http://')
  fc.assert(
    fc.property(schemes, fc.array(pieces, { maxLength: 8 }), (scheme, parts) => {
      let path: string
      try {
        const source = parseSource(scheme + parts.join(''))
        if (source.kind === 'local') return
        path = pathInSharedFolder('/shared', source)
      } catch {
        return
      }
      expect(path.startsWith('/shared/')).toBe(true)
      expect(path.split('/')).not.toContain('..')
    }),
  )
})

test('a part of a split file stands for all of them', () => {
  expect(splitParts('d/m-00002-of-00003.gguf')).toEqual([1, 2, 3].map((part) => `d/m-0000${part}-of-00003.gguf`))
  for (const name of [
    'm.gguf',
    'm-00004-of-00003.gguf',
    'm-00000-of-00003.gguf',
    'm-1-of-3.gguf',
    'm-00001-of-00003.bin',
  ]) {
    expect(splitParts(name)).toEqual([name])
  }
  expect(splitParts('m-00001-of-00001.gguf')).toEqual(['m-00001-of-00001.gguf'])
  expect(() => splitParts('m-00001-of-99999.gguf')).toThrow('at most 1000')
})
