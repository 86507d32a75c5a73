import { AppError } from '../../platform/errors.ts'
import { brokenFile, ByteReader } from './byte-reader.ts'
import type { ByteSource } from './byte-source.ts'

export type Scalar = number | boolean | string

/** The header of one GGUF file. */
export interface GgufFile {
  /** Values by key. A list longer than the layers of any model is kept as its length only: `{ length }`. */
  metadata: ReadonlyMap<string, Scalar | readonly Scalar[] | { length: number }>
  tensors: readonly { name: string; bytes: number }[]
}

const MOST_KEYS = 10_000
const MOST_TENSORS = 200_000
const MOST_DIMENSIONS = 8
/**
 * Longer texts (chat templates) and lists (vocabularies) are skipped; requested texts are skipped above the second
 * limit.
 */
const MOST_TEXT_BYTES = 1024
const MOST_ASKED_TEXT_BYTES = 256 * 1024
const MOST_LIST = 10_000
const MOST_NESTING = 4
const DEFAULT_ALIGNMENT = 32

/** GGUF's kinds of values by number; 8 is text and 9 a list. */
const numberKinds: Readonly<Record<number, [bytes: number, kind: 'unsigned' | 'signed' | 'float']>> = {
  0: [1, 'unsigned'],
  1: [1, 'signed'],
  2: [2, 'unsigned'],
  3: [2, 'signed'],
  4: [4, 'unsigned'],
  5: [4, 'signed'],
  6: [4, 'float'],
  7: [1, 'unsigned'],
  10: [8, 'unsigned'],
  11: [8, 'signed'],
  12: [8, 'float'],
}
const BOOLEAN = 7
const TEXT = 8
const LIST = 9

/** Magic and version, counts, then keys with values, then tensors with shapes and places. `asked`: keys of long texts. */
export async function readGguf(
  source: ByteSource,
  signal: AbortSignal,
  asked: readonly string[] = [],
): Promise<GgufFile> {
  const reader = new ByteReader(source, signal)
  const { label } = source
  await reader.need(4)
  if (reader.take(4).toString('latin1') !== 'GGUF') throw new AppError('bad_request', `${label} is not a GGUF file.`)
  await reader.need(20)
  checkVersion(reader, label)
  const tensorCount = reader.uint64()
  const keyCount = reader.uint64()
  if (keyCount > MOST_KEYS || tensorCount > MOST_TENSORS) {
    throw brokenFile(label, `it claims to have ${tensorCount} tensors and ${keyCount} keys`)
  }
  const metadata = new Map<string, Scalar | readonly Scalar[] | { length: number }>()
  for (let i = 0; i < keyCount; i += 1) {
    const key = await readText(reader, label)
    await reader.need(4)
    const mostBytes = key !== undefined && asked.includes(key) ? MOST_ASKED_TEXT_BYTES : MOST_TEXT_BYTES
    const value = await readValue(reader, reader.uint32(), label, mostBytes)
    if (key !== undefined && value !== undefined) metadata.set(key, value)
  }
  const places: { name: string; offset: number }[] = []
  for (let i = 0; i < tensorCount; i += 1) places.push(await readPlace(reader, label))
  return { metadata, tensors: tensorSizes(places, reader.offset, metadata, source) }
}

/**
 * Version 1 counted with 32 bits and was replaced after weeks. A file for machines of the other byte order has swapped
 * bytes.
 */
function checkVersion(reader: ByteReader, label: string): void {
  const version = reader.uint32()
  if (version === 2 || version === 3) return
  if (version === 2 << 24 || version === 3 << 24) return reader.useBigEndian()
  throw new AppError('bad_request', `${label} is GGUF of version ${version}; versions 2 and 3 can be read.`)
}

async function readText(reader: ByteReader, label: string, mostBytes = MOST_TEXT_BYTES): Promise<string | undefined> {
  await reader.need(8)
  const length = reader.uint64()
  if (length > mostBytes) return skipBytes(reader, length, label)
  await reader.need(length)
  return reader.take(length).toString('utf8')
}

/** Undefined for values that are not needed. */
async function readValue(
  reader: ByteReader,
  type: number,
  label: string,
  mostBytes: number,
): Promise<Scalar | readonly Scalar[] | { length: number } | undefined> {
  if (type === TEXT) return readText(reader, label, mostBytes)
  if (type === LIST) return readList(reader, label, 1)
  const [bytes, kind] = numberKinds[type] ?? unknownKind(type, label)
  await reader.need(bytes)
  const number = reader.number(bytes, kind)
  return type === BOOLEAN ? number !== 0 : number
}

async function readList(
  reader: ByteReader,
  label: string,
  depth: number,
): Promise<readonly Scalar[] | { length: number }> {
  if (depth > MOST_NESTING) throw brokenFile(label, 'lists are nested too deeply')
  await reader.need(12)
  const type = reader.uint32()
  const length = reader.uint64()
  if (type === LIST) {
    for (let i = 0; i < length; i += 1) await readList(reader, label, depth + 1)
    return { length }
  }
  if (type === TEXT) {
    // Hundreds of thousands of entries: an await for each would take longer than all the rest.
    for (let i = 0; i < length; i += 1) {
      if (!reader.has(8)) await reader.need(8)
      skipBytes(reader, reader.uint64(), label)
    }
    return { length }
  }
  const [bytes, kind] = numberKinds[type] ?? unknownKind(type, label)
  if (length > MOST_LIST) {
    skipBytes(reader, bytes * length, label)
    return { length }
  }
  await reader.need(bytes * length)
  const numbers = Array.from({ length }, () => reader.number(bytes, kind))
  return type === BOOLEAN ? numbers.map((number) => number !== 0) : numbers
}

function skipBytes(reader: ByteReader, bytes: number, label: string): undefined {
  if (!Number.isSafeInteger(reader.offset + bytes)) throw brokenFile(label, 'a length in it is impossible')
  reader.skip(bytes)
}

async function readPlace(reader: ByteReader, label: string): Promise<{ name: string; offset: number }> {
  const name = (await readText(reader, label)) ?? ''
  await reader.need(4)
  const dimensions = reader.uint32()
  if (dimensions > MOST_DIMENSIONS) throw brokenFile(label, `a tensor has ${dimensions} dimensions`)
  await reader.need(dimensions * 8 + 4 + 8)
  // Shape and type: a tensor's size follows from the start of the next one, even for unknown types.
  reader.skip(dimensions * 8 + 4)
  return { name, offset: reader.uint64() }
}

function tensorSizes(
  places: readonly { name: string; offset: number }[],
  end: number,
  metadata: GgufFile['metadata'],
  { size, label }: ByteSource,
): GgufFile['tensors'] {
  if (size === undefined) throw new AppError('bad_gateway', `The server does not say how long ${label} is.`)
  if (end > size) throw brokenFile(label, 'it ends in the middle of its header')
  const start = dataOffset(end, metadata)
  const inOrder = places.toSorted((a, b) => a.offset - b.offset)
  return inOrder.map(({ name, offset }, index) => {
    const bytes = (inOrder[index + 1]?.offset ?? size - start) - offset
    if (bytes < 0) throw brokenFile(label, 'it is shorter than its header says')
    return { name, bytes }
  })
}

function dataOffset(end: number, metadata: GgufFile['metadata']): number {
  const given = metadata.get('general.alignment')
  const alignment = typeof given === 'number' && Number.isSafeInteger(given) && given > 0 ? given : DEFAULT_ALIGNMENT
  return Math.ceil(end / alignment) * alignment
}

function unknownKind(type: number, label: string): never {
  throw brokenFile(label, `it has a value of the unknown kind ${type}`)
}
