import { rmSync } from 'node:fs'
import { appendFile, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { logLine, type LogLine } from '../../api/admin/schemas.ts'
import { logFileName } from './file-name.ts'

/**
 * Lines in a segment. There are two segments, so that at least this many lines are on disk once that many were written.
 */
export const SEGMENT_LINES = 1000

const CURRENT = '.jsonl'
const PREVIOUS = '.old.jsonl'

/**
 * The log of one replica on disk: a segment that is appended to, and the full one before it. Each line is one of JSON.
 * An incomplete line, left by a crash or a full disk, does not parse and is skipped when read. The owner makes one call
 * at a time.
 */
export class Segments {
  /** The size of both on disk. */
  get bytes(): number {
    return this.#currentBytes + this.#previousBytes
  }

  readonly #current: string
  readonly #previous: string
  #currentLines = 0
  #currentBytes = 0
  #previousBytes = 0
  /** The last line may be incomplete: the next one must begin on a new line. */
  #isTorn = false

  constructor(folder: string, name: string) {
    this.#current = join(folder, `${name}${CURRENT}`)
    this.#previous = join(folder, `${name}${PREVIOUS}`)
  }

  /** Reads what an earlier run of the worker wrote. */
  async load(): Promise<LogLine[]> {
    const previous = await readIfThere(this.#previous)
    const current = await readIfThere(this.#current)
    const currentLines = parseLines(current)
    this.#previousBytes = Buffer.byteLength(previous)
    this.#currentBytes = Buffer.byteLength(current)
    this.#currentLines = currentLines.length
    this.#isTorn = current !== '' && !current.endsWith('\n')
    return inOrder([...parseLines(previous), ...currentLines])
  }

  async read(): Promise<LogLine[]> {
    const previous = await readIfThere(this.#previous)
    return inOrder([...parseLines(previous), ...parseLines(await readIfThere(this.#current))])
  }

  /** Writes as many of the lines as the segment has room for, and at least one. Returns how many. */
  async append(lines: readonly LogLine[]): Promise<number> {
    if (this.#currentLines >= SEGMENT_LINES) await this.#rotate()
    const batch = lines.slice(0, SEGMENT_LINES - this.#currentLines)
    const text = `${this.#isTorn ? '\n' : ''}${batch.map((line) => `${JSON.stringify(line)}\n`).join('')}`
    // True until the write is known to have succeeded. Lines that are then written twice are recognized by their
    // numbers.
    this.#isTorn = true
    await appendFile(this.#current, text, { mode: 0o600 })
    this.#isTorn = false
    this.#currentLines += batch.length
    this.#currentBytes += Buffer.byteLength(text)
    return batch.length
  }

  /** Synchronous, so that no append can happen meanwhile. */
  remove(): void {
    rmSync(this.#current, { force: true })
    rmSync(this.#previous, { force: true })
  }

  async #rotate(): Promise<void> {
    await rename(this.#current, this.#previous).catch(unlessMissing)
    this.#previousBytes = this.#currentBytes
    this.#currentBytes = 0
    this.#currentLines = 0
    this.#isTorn = false
  }
}

/** The names of the logs among the files of a folder. */
export function logNamesAmong(files: readonly string[]): string[] {
  const names = files
    .filter((file) => file.endsWith(CURRENT))
    .map((file) => file.slice(0, -(file.endsWith(PREVIOUS) ? PREVIOUS : CURRENT).length))
  return [...new Set(names)]
}

async function readIfThere(file: string): Promise<string> {
  return (await readFile(file, 'utf8').catch(unlessMissing)) ?? ''
}

function unlessMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

function parseLines(text: string): LogLine[] {
  return text.split('\n').flatMap((line) => {
    const parsed = line === '' ? undefined : parseLine(line)
    return parsed ? [parsed] : []
  })
}

function parseLine(text: string): LogLine | undefined {
  try {
    return logLine.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/** Each line once, and only lines of one replica. */
function inOrder(lines: readonly LogLine[]): LogLine[] {
  let lastSeq = 0
  return lines.filter(({ seq, replica }) => {
    if (seq <= lastSeq || replica !== lines[0]?.replica) return false
    lastSeq = seq
    return true
  })
}

/** The replica whose lines these are; undefined when there are none, or when the file's name is not ours. */
export function replicaOf(lines: readonly LogLine[], name: string): string | undefined {
  const key = lines[0]?.replica
  return key !== undefined && logFileName(key) === name ? key : undefined
}
