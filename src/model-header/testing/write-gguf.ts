import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'

export type GgufValue = string | number | boolean | readonly (number | boolean)[] | { length: number }

export interface GgufToWrite {
  metadata: Readonly<Record<string, GgufValue>>
  /** Each takes so many bytes. */
  tensors?: readonly { name: string; bytes: number }[]
}

const ALIGNMENT = 32
const UINT32 = 4
const FLOAT32 = 6
const BOOLEAN = 7
const TEXT = 8
const LIST = 9
const INT8_TENSOR = 24

/** Writes a GGUF file of the size that it would have. What is not the header takes no place on the disk. */
export function writeGguf(path: string, gguf: GgufToWrite): void {
  const header = ggufHeaderBytes(gguf)
  const file = openSync(path, 'w')
  writeSync(file, header)
  ftruncateSync(file, header.length + padded((gguf.tensors ?? []).reduce((sum, { bytes }) => sum + padded(bytes), 0)))
  closeSync(file)
}

/** The header with its padding. */
export function ggufHeaderBytes({ metadata, tensors = [] }: GgufToWrite): Buffer {
  const parts = [Buffer.from('GGUF'), uint32(3), uint64(tensors.length), uint64(Object.keys(metadata).length)]
  for (const [key, value] of Object.entries(metadata)) parts.push(text(key), typed(value))
  let offset = 0
  for (const { name, bytes } of tensors) {
    parts.push(text(name), uint32(1), uint64(bytes), uint32(INT8_TENSOR), uint64(offset))
    offset += padded(bytes)
  }
  const all = Buffer.concat(parts)
  return Buffer.concat([all, Buffer.alloc(padded(all.length) - all.length)])
}

function typed(value: GgufValue): Buffer {
  if (Array.isArray(value)) {
    const list = value as readonly (number | boolean)[]
    const type = typeof list[0] === 'boolean' ? BOOLEAN : UINT32
    return Buffer.concat([uint32(LIST), uint32(type), uint64(list.length), ...list.map((one) => scalar(one))])
  }
  if (typeof value === 'object') {
    const tokens = Array.from({ length: (value as { length: number }).length }, (_, index) => text(`t${index}`))
    return Buffer.concat([uint32(LIST), uint32(TEXT), uint64(tokens.length), ...tokens])
  }
  return Buffer.concat([uint32(typeOf(value)), scalar(value)])
}

function typeOf(value: string | number | boolean): number {
  if (typeof value === 'string') return TEXT
  if (typeof value === 'boolean') return BOOLEAN
  return Number.isInteger(value) ? UINT32 : FLOAT32
}

function scalar(value: string | number | boolean): Buffer {
  if (typeof value === 'string') return text(value)
  if (typeof value === 'boolean') return Buffer.from([Number(value)])
  if (Number.isInteger(value)) return uint32(value)
  const buffer = Buffer.alloc(4)
  buffer.writeFloatLE(value)
  return buffer
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([uint64(bytes.length), bytes])
}

function uint32(value: number): Buffer {
  const buffer = Buffer.alloc(4)
  buffer.writeUInt32LE(value)
  return buffer
}

function uint64(value: number): Buffer {
  const buffer = Buffer.alloc(8)
  buffer.writeBigUInt64LE(BigInt(value))
  return buffer
}

function padded(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT
}
