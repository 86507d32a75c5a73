import type { ByteSource } from './byte-source.ts'

/** One file of a model, by its path in the model's folder. */
export interface ModelFile {
  path: string
  bytes: ByteSource
}
