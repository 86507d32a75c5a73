import { createHash, type Hash } from 'node:crypto'
import { constants } from 'node:fs'
import { open, readFile, rm, type FileHandle } from 'node:fs/promises'
import { z } from 'zod'
import type { Wanted } from '../../../model-files/source/wanted.ts'
import { writeJson, type Layout } from './layout.ts'

const record = z.object({
  label: z.string(),
  source_id: z.string(),
  etag: z.string().nullable(),
  last_modified: z.string().nullable(),
  size: z.int().nonnegative().nullable(),
  /** Known once all bytes have arrived. */
  sha256: z.string().nullable(),
})
export type PartRecord = z.infer<typeof record>

/** What the server says of the file; if it changes, the bytes that we have belong to another file. */
export type Head = Pick<PartRecord, 'etag' | 'last_modified' | 'size'>

const CHUNK_BYTES = 1024 * 1024

export async function readRecord(layout: Layout, id: string): Promise<PartRecord | undefined> {
  try {
    return record.parse(JSON.parse(await readFile(layout.record(id), 'utf8')))
  } catch {
    return undefined
  }
}

/** The bytes of one file that have arrived, hashed as they arrive. */
export class Part {
  doneBytes = 0
  readonly #wanted: Wanted
  readonly #layout: Layout
  readonly #id: string
  readonly #file: FileHandle
  #record: PartRecord
  #hash: Hash = createHash('sha256')

  private constructor(wanted: Wanted, layout: Layout, id: string, file: FileHandle, record: PartRecord) {
    this.#wanted = wanted
    this.#layout = layout
    this.#id = id
    this.#file = file
    this.#record = record
  }

  /** Continues a part of an earlier transfer, if that is possible. Reads all of it, in small pieces. */
  static async open(
    wanted: Wanted,
    { layout, id, sourceId }: { layout: Layout; id: string; sourceId: string },
    signal: AbortSignal,
    onHashed: (doneBytes: number) => void,
  ): Promise<Part> {
    const earlier = await readRecord(layout, id)
    const fresh = { source_id: sourceId, etag: null, last_modified: null, size: null, sha256: null }
    const file = await open(layout.part(id), constants.O_RDWR | constants.O_CREAT, 0o600)
    const part = new Part(wanted, layout, id, file, earlier ?? { label: wanted.label, ...fresh })
    try {
      const { size } = await file.stat()
      const isUsable = earlier !== undefined && part.canResume && size <= (part.totalBytes ?? size)
      if (isUsable) await part.#takeUp(size, signal, onHashed)
      else await part.restart()
      return part
    } catch (error) {
      await file.close()
      throw error
    }
  }

  get totalBytes(): number | null {
    return this.#wanted.size ?? this.#record.size
  }

  get isComplete(): boolean {
    return this.doneBytes === this.totalBytes
  }

  get head(): Head {
    return this.#record
  }

  /** Whether the rest can be requested later without the risk of joining two different files. */
  get canResume(): boolean {
    const { etag, last_modified: lastModified, sha256 } = this.#record
    return etag !== null || lastModified !== null || sha256 !== null || this.#wanted.sha256 !== undefined
  }

  /** Headers that request the rest, provided that the file has not changed; empty when the whole file is wanted. */
  get rangeHeaders(): Record<string, string> {
    if (this.doneBytes === 0) return {}
    const { etag, last_modified: lastModified } = this.#record
    // A weak etag is not allowed in If-Range; it is compared when the answer comes.
    const validator = etag !== null && !etag.startsWith('W/') ? etag : lastModified
    return { range: `bytes=${this.doneBytes}-`, ...(validator === null ? {} : { 'if-range': validator }) }
  }

  /** Records what the server says of the file, before the first byte is written. */
  async describe(head: Head): Promise<void> {
    this.#record = { ...this.#record, label: this.#wanted.label, ...head }
    await writeJson(this.#layout.record(this.#id), this.#record)
  }

  async append(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length;) {
      const { bytesWritten } = await this.#file.write(chunk, at, chunk.length - at, this.doneBytes + at)
      at += bytesWritten
    }
    this.#hash.update(chunk)
    this.doneBytes += chunk.length
  }

  async restart(): Promise<void> {
    await this.#file.truncate(0)
    // Before the record names another file: even after a power cut it must not stand beside bytes of the old file.
    if (this.doneBytes > 0) await this.#file.sync()
    this.#hash = createHash('sha256')
    this.doneBytes = 0
    this.#record = { ...this.#record, etag: null, last_modified: null, size: null, sha256: null }
  }

  /**
   * All bytes have arrived and are on the disk. The digest is recorded too, so that a crash from here on does not lose
   * it.
   */
  async seal(): Promise<string> {
    // A write that failed halfway may have left bytes beyond the end.
    await this.#file.truncate(this.doneBytes)
    await this.#file.sync()
    const sha256 = this.#hash.digest('hex')
    await writeJson(this.#layout.record(this.#id), { ...this.#record, size: this.doneBytes, sha256 })
    return sha256
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  async discard(): Promise<void> {
    await rm(this.#layout.part(this.#id), { force: true })
    await rm(this.#layout.record(this.#id), { force: true })
  }

  async #takeUp(size: number, signal: AbortSignal, onHashed: (doneBytes: number) => void): Promise<void> {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
    while (this.doneBytes < size) {
      signal.throwIfAborted()
      const { bytesRead } = await this.#file.read(
        buffer,
        0,
        Math.min(CHUNK_BYTES, size - this.doneBytes),
        this.doneBytes,
      )
      if (bytesRead === 0) break
      this.#hash.update(buffer.subarray(0, bytesRead))
      this.doneBytes += bytesRead
      onHashed(this.doneBytes)
    }
  }
}
