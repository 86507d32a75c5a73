import { z } from 'zod'
import { AppError } from '../../platform/errors.ts'
import { brokenFile } from './byte-reader.ts'
import type { ByteSource } from './byte-source.ts'

/** The format's own limit is 100 MB; models with tens of thousands of tensors have 10 MB. */
const MOST_HEADER_BYTES = 32 * 2 ** 20
/** Holds the header of most files, so that one request suffices. */
const FIRST_BYTES = 256 * 1024
const LENGTH_BYTES = 8

const header = z.record(
  z.string(),
  z.union([
    z.object({
      dtype: z.string(),
      shape: z.array(z.int().nonnegative()),
      data_offsets: z.tuple([z.int().nonnegative(), z.int().nonnegative()]),
    }),
    // The author's notes, under `__metadata__`.
    z.record(z.string(), z.string()),
  ]),
)

/** Bytes of all tensors in one safetensors file: a length, as much JSON, then the tensors themselves. */
export async function readSafetensors(source: ByteSource, signal: AbortSignal): Promise<{ bytes: number }> {
  const { label } = source
  const first = await source.read(0, FIRST_BYTES, signal)
  if (first.length < LENGTH_BYTES) throw brokenFile(label, 'it ends in the middle of its header')
  const length = Number(first.readBigUInt64LE(0))
  if (length > MOST_HEADER_BYTES) throw new AppError('bad_request', `${label} is not a safetensors file.`)
  const end = LENGTH_BYTES + length
  const rest = end > first.length ? await source.read(first.length, end - first.length, signal) : Buffer.alloc(0)
  const all = Buffer.concat([first, rest])
  if (all.length < end) throw brokenFile(label, 'it ends in the middle of its header')
  const parsed = header.safeParse(jsonOf(all.subarray(LENGTH_BYTES, end)))
  if (!parsed.success) throw new AppError('bad_request', `${label} is not a safetensors file.`)
  const ends = Object.values(parsed.data).map((entry) => (isTensor(entry) ? entry.data_offsets[1] : 0))
  // Tensors are stored without gaps, so the end of the last one is the size of all.
  const bytes = ends.reduce((most, at) => Math.max(most, at), 0)
  if (source.size !== undefined && source.size < end + bytes) {
    throw brokenFile(label, 'it is shorter than its header says')
  }
  return { bytes }
}

type Entry = z.infer<typeof header>[string]

function isTensor(entry: Entry): entry is Extract<Entry, { dtype: string; data_offsets: unknown }> {
  return Array.isArray(entry['data_offsets'])
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}
