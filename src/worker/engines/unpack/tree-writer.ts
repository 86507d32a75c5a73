import { link, mkdir, open, symlink } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { AppError } from '../../../platform/errors.ts'

export interface UnpackLimits {
  mostEntries: number
  mostBytes: number
  /**
   * Unpacked bytes for each byte of the archive. Programs shrink to a third or a tenth, a decompression bomb to a
   * thousandth.
   */
  mostRatio: number
  /** The ratio is not checked below this size. */
  ratioFromBytes: number
}

export const unpackLimits: UnpackLimits = {
  mostEntries: 100_000,
  mostBytes: 50 * 1000 ** 3,
  mostRatio: 100,
  ratioFromBytes: 256 * 1024 ** 2,
}

const MOST_PATH_CHARS = 1024

/**
 * Writes an archive's content into an empty folder, and nothing outside it: every path must lead into the folder, no
 * file is written twice, and links are made last, so that no write goes through one. Checking the text of a path is
 * enough, because no other process writes into the folder.
 */
export class TreeWriter {
  readonly #root: string
  readonly #archiveBytes: number
  readonly #limits: UnpackLimits
  readonly #onProgress: (file: string, doneBytes: number) => void
  readonly #files = new Set<string>()
  readonly #folders = new Set<string>()
  readonly #hardLinks = new Map<string, string>()
  readonly #symbolicLinks = new Map<string, string>()
  #entries = 0
  #bytes = 0
  #read = 0

  constructor(
    root: string,
    archiveBytes: number,
    limits: UnpackLimits,
    onProgress: (file: string, doneBytes: number) => void,
  ) {
    this.#root = root
    this.#archiveBytes = archiveBytes
    this.#limits = limits
    this.#onProgress = onProgress
  }

  async folder(path: string): Promise<void> {
    const clean = this.#begin(path)
    this.#assertBelowFolders(`${clean}/`)
    await this.#makeFolder(clean)
  }

  async file(path: string, mode: number, content: AsyncIterable<Uint8Array>): Promise<void> {
    const clean = this.#claim(path)
    await this.#makeFolder(posix.dirname(clean))
    this.#files.add(clean)
    this.#onProgress(clean, this.#bytes)
    // At most rwx for the owner and rx for others: an archive cannot create setuid files. Opened before any step that
    // can fail: no file appears in the folder after this has given up.
    const target = await open(join(this.#root, clean), 'wx', (mode & 0o755) | 0o600)
    await pipeline(this.#counted(clean, content), target.createWriteStream())
  }

  /** Remembers a link; `target` is relative to the link itself. */
  symbolicLink(path: string, target: string): void {
    this.#symbolicLinks.set(this.#claim(path), target)
  }

  /** Remembers a second name for a file that came before; `target` is relative to the archive. */
  hardLink(path: string, target: string): void {
    const clean = this.#claim(path)
    const file = cleanPath(target)
    if (!this.#files.has(file)) throw unsafe(path, 'is a link to a file that is not in the archive')
    this.#hardLinks.set(clean, file)
  }

  /** Counts decompressed bytes, in files or not: padding can be a bomb, too. */
  countRead(bytes: number): void {
    this.#read += bytes
    this.#assertWithinLimits(this.#read)
  }

  /** Makes the links. Returns the folder that holds the engine: a single top-level folder is skipped. */
  async finish(): Promise<string> {
    for (const [path, file] of this.#hardLinks) {
      await this.#makeFolder(posix.dirname(path))
      await link(join(this.#root, file), join(this.#root, path))
    }
    const top = this.#singleFolder()
    for (const [path, target] of this.#symbolicLinks) {
      await this.#makeFolder(posix.dirname(path))
      await symlink(this.#targetWithin(top, path, target), join(this.#root, path))
    }
    return join(this.#root, top)
  }

  #begin(path: string): string {
    this.#entries += 1
    if (this.#entries > this.#limits.mostEntries) {
      throw new AppError('too_large', `The archive has more than ${this.#limits.mostEntries} entries.`)
    }
    return cleanPath(path)
  }

  /** Reserves a name: each may be used once, and only below folders. */
  #claim(path: string): string {
    const clean = this.#begin(path)
    if (clean === '.' || this.#folders.has(clean) || this.#isLeaf(clean)) throw unsafe(path, 'is in it more than once')
    this.#assertBelowFolders(clean)
    return clean
  }

  #assertBelowFolders(path: string): void {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      if (this.#symbolicLinks.has(path.slice(0, end))) throw unsafe(path, 'would be written through a link')
      if (this.#isLeaf(path.slice(0, end))) throw unsafe(path, 'lies below a file')
    }
  }

  #isLeaf(path: string): boolean {
    return this.#files.has(path) || this.#hardLinks.has(path) || this.#symbolicLinks.has(path)
  }

  async #makeFolder(path: string): Promise<void> {
    if (path === '.' || this.#folders.has(path)) return
    await this.#makeFolder(posix.dirname(path))
    await mkdir(join(this.#root, path), { mode: 0o755 })
    this.#folders.add(path)
  }

  async *#counted(path: string, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      this.#bytes += chunk.length
      this.#assertWithinLimits(this.#bytes)
      this.#onProgress(path, this.#bytes)
      yield chunk
    }
  }

  #assertWithinLimits(bytes: number): void {
    const { mostBytes, mostRatio, ratioFromBytes } = this.#limits
    if (bytes > mostBytes) {
      throw new AppError('too_large', `The archive holds more than ${mostBytes} bytes; that is too much for an engine.`)
    }
    if (bytes > ratioFromBytes && bytes > this.#archiveBytes * mostRatio) {
      const times = `more than ${mostRatio} times its own size`
      throw new AppError('too_large', `The archive unpacks to ${times}, which no engine does; it was given up.`)
    }
  }

  #singleFolder(): string {
    const tops = new Set<string>()
    for (const names of [this.#files, this.#folders, this.#hardLinks.keys(), this.#symbolicLinks.keys()]) {
      for (const path of names) tops.add(path.split('/', 1)[0]!)
    }
    const [only] = tops
    return only !== undefined && tops.size === 1 && !this.#isLeaf(only) ? only : '.'
  }

  /**
   * Rewrites the target as `../../a/b`: up through folders, which are real, then down through names, each of which is a
   * folder or another such link. So no chain of links can lead out of the folder.
   */
  #targetWithin(top: string, path: string, target: string): string {
    const from = posix.relative(top, posix.dirname(path))
    const to = posix.normalize(target)
    const isOutside = posix.isAbsolute(to) || /^\.\.(\/|$)/.test(posix.join(from, to))
    if (isOutside || target === '' || target.includes('\\') || target.includes('\0')) {
      throw unsafe(path, 'is a link that leads out of it')
    }
    return to
  }
}

function cleanPath(path: string): string {
  const isOdd = path === '' || path.length > MOST_PATH_CHARS || path.includes('\0') || path.includes('\\')
  if (isOdd) throw unsafe(path, 'has a name that cannot be used')
  if (posix.isAbsolute(path)) throw unsafe(path, 'has an absolute path')
  if (path.split('/').includes('..')) throw unsafe(path, 'leads out of it')
  return posix.normalize(path).replace(/\/$/, '')
}

function unsafe(path: string, why: string): AppError {
  const shown = JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path)
  return new AppError('bad_request', `The archive is not safe to unpack: ${shown} ${why}.`)
}
