import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'

/** An object with a length is a list of so many made-up tokens. */
export type GgufValue =
  | string
  | number
  | boolean
  | Int32Array
  | readonly (string | number | boolean)[]
  | { length: number }

export interface GgufToWrite {
  metadata: Readonly<Record<string, GgufValue>>
  tensors?: readonly (EmptyTensor | FilledTensor)[]
}

/** Takes so many bytes. */
export interface EmptyTensor {
  name: string
  bytes: number
}

/** Has weights, for models that are to be computed with. */
export interface FilledTensor {
  name: string
  /** The numbers that lie next to one another are counted by the first. */
  shape: readonly number[]
  weights: Float32Array
}

const ALIGNMENT = 32
const UINT32 = 4
const INT32 = 5
const FLOAT32 = 6
const BOOLEAN = 7
const TEXT = 8
const LIST = 9
const FLOAT32_TENSOR = 0
const INT8_TENSOR = 24

/** Writes a GGUF file of the size that it would have. Tensors without weights take no place on the disk. */
export function writeGguf(path: string, gguf: GgufToWrite): void {
  const header = ggufHeaderBytes(gguf)
  const file = openSync(path, 'w')
  writeSync(file, header)
  let end = header.length
  for (const tensor of gguf.tensors ?? []) {
    if ('weights' in tensor) writeSync(file, tensor.weights, 0, tensor.weights.byteLength, end)
    end += padded(bytesOf(tensor))
  }
  ftruncateSync(file, end)
  closeSync(file)
}

/** The header with its padding. */
export function ggufHeaderBytes({ metadata, tensors = [] }: GgufToWrite): Buffer {
  const parts = [Buffer.from('GGUF'), uint32(3), uint64(tensors.length), uint64(Object.keys(metadata).length)]
  for (const [key, value] of Object.entries(metadata)) parts.push(text(key), typed(value))
  let offset = 0
  for (const tensor of tensors) {
    const shape = 'weights' in tensor ? tensor.shape : [tensor.bytes]
    parts.push(text(tensor.name), uint32(shape.length), ...shape.map(uint64))
    parts.push(uint32('weights' in tensor ? FLOAT32_TENSOR : INT8_TENSOR), uint64(offset))
    offset += padded(bytesOf(tensor))
  }
  const all = Buffer.concat(parts)
  return Buffer.concat([all, Buffer.alloc(padded(all.length) - all.length)])
}

function bytesOf(tensor: EmptyTensor | FilledTensor): number {
  return 'weights' in tensor ? tensor.weights.byteLength : tensor.bytes
}

function typed(value: GgufValue): Buffer {
  if (value instanceof Int32Array) {
    return Buffer.concat([uint32(LIST), uint32(INT32), uint64(value.length), Buffer.from(value.buffer)])
  }
  if (Array.isArray(value)) {
    const list = value as readonly (string | number | boolean)[]
    const type = list[0] === undefined ? UINT32 : typeOf(list[0])
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
