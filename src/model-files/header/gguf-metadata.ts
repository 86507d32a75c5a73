import type { GgufFile } from './gguf-file.ts'

/** The metadata of a model, by meaning. Implausible numbers count as missing. */
export class Metadata {
  readonly architecture: string
  readonly #values: GgufFile['metadata']

  constructor(values: GgufFile['metadata']) {
    this.#values = values
    const architecture = values.get('general.architecture')
    this.architecture = typeof architecture === 'string' ? architecture.slice(0, 100) : 'unknown'
  }

  number(key: string): number | undefined {
    return asCount(this.#values.get(key))
  }

  /**
   * A key under the architecture's own prefix. From a list by layer it takes that layer's entry, the first by default.
   */
  own(name: string, layer = 0): number | undefined {
    const value = this.#values.get(`${this.architecture}.${name}`)
    return isList(value) ? asCount(value[layer]) : asCount(value)
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.#values.get(`${this.architecture}.${name}`)
    return isList(value) ? value : undefined
  }

  length(key: string): number | undefined {
    const value = this.#values.get(key)
    return typeof value === 'object' ? asCount(value.length) : undefined
  }
}

type Value = ReturnType<GgufFile['metadata']['get']>

function isList(value: Value): value is readonly (string | number | boolean)[] {
  return Array.isArray(value)
}

function asCount(value: unknown): number | undefined {
  const number = typeof value === 'boolean' ? Number(value) : value
  // No model has larger ones, and products of a few of them are still exact.
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 && number < 2 ** 32
    ? number
    : undefined
}
