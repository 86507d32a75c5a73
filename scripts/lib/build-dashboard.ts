import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build, type Plugin } from 'vite'
import { distFolder, writeStamp } from './dashboard-stamp.js'
import { root } from './root.ts'

/** Below this a compressed file is hardly smaller, and one packet anyway. */
const leastBytes = 1024

/**
 * Builds beside what is there and puts it in place file by file, the page last: a frontend that runs meanwhile serves the
 * one or the other, and never half of one.
 */
export async function buildDashboard(): Promise<void> {
  const startedMs = performance.now()
  const dist = distFolder(root)
  const next = path.join(dist, '.next')
  const used = new Set<string>()
  // What somebody has in the environment does not make another program of it.
  process.env['NODE_ENV'] = 'production'
  await build({
    root: path.join(root, 'ui'),
    configFile: path.join(root, 'ui/vite.config.ts'),
    logLevel: 'warn',
    plugins: [noteFiles(used)],
    build: { outDir: next, emptyOutDir: true },
  })
  const files = listFiles(next)
  const packed = await Promise.all(files.filter(isWorthPacking).map((name) => pack(path.join(next, name))))
  putInPlace(next, dist)
  writeStamp(root, [...used])
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  const kilobytes = Math.ceil(packed.reduce((sum, bytes) => sum + bytes, 0) / 1000)
  console.log(`✓ dashboard in ui/dist (${files.length} files, ${kilobytes} kB gzipped, ${seconds} s)`)
}

function noteFiles(used: Set<string>): Plugin {
  return {
    name: 'note-files',
    moduleParsed({ id }) {
      const file = id.replace(/[?#].*$/, '')
      if (path.isAbsolute(file)) used.add(file)
    },
  }
}

function listFiles(folder: string): string[] {
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
}

/** The page itself is small, and replaced whole by one rename. */
function isWorthPacking(name: string): boolean {
  return name.startsWith('assets/') && /\.(js|css|svg|json|map)$/.test(name)
}

/** Returns what it takes gzipped. */
async function pack(file: string): Promise<number> {
  const bytes = fs.readFileSync(file)
  const zipped = await promisify(gzip)(bytes, { level: 9 })
  if (bytes.length >= leastBytes) {
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
    fs.writeFileSync(`${file}.gz`, zipped)
    fs.writeFileSync(`${file}.br`, await promisify(brotliCompress)(bytes, { params }))
  }
  return zipped.length
}

function putInPlace(from: string, to: string): void {
  const isPage = (name: string): number => (name === 'index.html' ? 1 : 0)
  const names = listFiles(from).toSorted((a, b) => isPage(a) - isPage(b))
  for (const name of names) {
    fs.mkdirSync(path.dirname(path.join(to, name)), { recursive: true })
    fs.renameSync(path.join(from, name), path.join(to, name))
  }
  fs.rmSync(from, { recursive: true })
  const kept = new Set(names)
  for (const name of listFiles(to)) if (!kept.has(name)) fs.rmSync(path.join(to, name))
}
