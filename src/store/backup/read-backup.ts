import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { z } from 'zod'
import { AppError, messageOf } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'
import {
  endSchema,
  FORMAT,
  headerSchema,
  MAX_LINE_BYTES,
  rowSchema,
  type BackupHeader,
  type BackupRow,
} from './format.ts'

export interface BackupReader {
  header(header: BackupHeader): void
  row(row: BackupRow, line: number): void
}

/**
 * Reads a backup, line by line, and checks that nothing of it is missing, added or altered. That is known at the end only:
 * what `reader` has made of it until then is not to be used when this fails.
 */
export async function readBackup(path: string, reader: BackupReader): Promise<void> {
  const lines = new Lines(path, reader)
  const read = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks) lines.take(chunk)
  }
  try {
    const source = createReadStream(path)
    await ((await isGzip(path)) ? pipeline(source, createGunzip(), read) : pipeline(source, read))
  } catch (error) {
    if (error instanceof AppError) throw error
    const { syscall } = error as NodeJS.ErrnoException
    if (syscall !== undefined)
      throw new AppError('usage', `Cannot read ${path}: ${fileProblem(error)}.`, { cause: error })
    throw unusable(path, `it cannot be unpacked: ${messageOf(error)}`)
  }
  lines.end()
}

export function unusable(path: string, why: string, line?: number): AppError {
  const at = line === undefined ? '' : ` in line ${line}`
  return new AppError('usage', `The backup ${path} cannot be used${at}: ${why}. Nothing was written.`)
}

/** By its first two bytes: a name may be anything. */
async function isGzip(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0)
    return buffer[0] === 0x1f && buffer[1] === 0x8b
  } finally {
    await file.close()
  }
}

const NEW_LINE = 0x0a

class Lines {
  readonly #path: string
  readonly #reader: BackupReader
  readonly #hash: Hash = createHash('sha256')
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  /** Of the line that has begun. */
  #parts: Buffer[] = []
  #bytes = 0
  #line = 0
  /** Rows that are still to come, by table. */
  #expected: Map<string, number> | undefined
  #rows = 0
  #isOver = false

  constructor(path: string, reader: BackupReader) {
    this.#path = path
    this.#reader = reader
  }

  take(chunk: Buffer): void {
    let from = 0
    for (let to = chunk.indexOf(NEW_LINE); to !== -1; to = chunk.indexOf(NEW_LINE, from)) {
      this.#keep(chunk.subarray(from, to + 1))
      this.#read(Buffer.concat(this.#parts))
      this.#parts = []
      this.#bytes = 0
      from = to + 1
    }
    this.#keep(chunk.subarray(from))
  }

  end(): void {
    if (this.#bytes > 0) this.#read(Buffer.concat(this.#parts))
    if (!this.#isOver) throw this.#unusable('it has no last line: it was cut off')
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length
    if (this.#bytes > MAX_LINE_BYTES) throw this.#unusable(`a line is longer than ${MAX_LINE_BYTES} bytes`)
    if (part.length > 0) this.#parts.push(part)
  }

  #read(bytes: Buffer): void {
    this.#line += 1
    if (this.#isOver) throw this.#unusable('there is more behind its last line')
    const value = this.#parse(bytes)
    if (isEnd(value)) return this.#finish(this.#check(endSchema, value))
    this.#hash.update(bytes)
    if (!this.#expected) this.#begin(this.#check(headerSchema, value))
    else this.#takeRow(this.#check(rowSchema, value), this.#expected)
  }

  #begin(header: BackupHeader): void {
    if (header.format !== FORMAT) {
      throw this.#unusable(`it has format ${header.format}, and this program knows ${FORMAT}: update the program`)
    }
    this.#expected = new Map(Object.entries(header.rows))
    this.#reader.header(header)
  }

  #takeRow(row: BackupRow, expected: Map<string, number>): void {
    const left = expected.get(row.table)
    if (left === undefined) throw this.#unusable(`there is a row of "${row.table}", which its first line does not name`)
    if (left === 0) throw this.#unusable(`there are more rows of "${row.table}" than its first line says`)
    expected.set(row.table, left - 1)
    this.#rows += 1
    this.#reader.row(row, this.#line)
  }

  #finish({ rows, sha256 }: z.infer<typeof endSchema>): void {
    const short = [...(this.#expected ?? [])].find(([, left]) => left > 0)
    if (!this.#expected) throw this.#unusable('it ends before it has begun')
    if (short) throw this.#unusable(`${short[1]} rows of "${short[0]}" are missing`)
    if (rows !== this.#rows) throw this.#unusable(`it should have ${rows} rows and has ${this.#rows}`)
    if (sha256 !== this.#hash.digest('hex'))
      throw this.#unusable('it was altered: its checksum is not that of its text')
    this.#isOver = true
  }

  #parse(bytes: Buffer): unknown {
    try {
      return JSON.parse(this.#decoder.decode(bytes))
    } catch {
      throw this.#unusable(this.#expected ? 'this is not JSON' : 'it is not a backup of Flotilla')
    }
  }

  #check<T>(schema: z.ZodType<T>, value: unknown): T {
    const result = schema.safeParse(value)
    if (result.success) return result.data
    if (!this.#expected) throw this.#unusable('it is not a backup of Flotilla')
    const [issue] = result.error.issues
    throw this.#unusable(`${issue?.path.join('.') || 'the line'}: ${issue?.message ?? 'not valid'}`)
  }

  #unusable(why: string): AppError {
    return unusable(this.#path, why, this.#line > 0 ? this.#line : undefined)
  }
}

function isEnd(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'flotilla' in value && value.flotilla === 'end'
}
