/** Vectors in the shape that OpenAI clients read. */
export function embeddingList(model: string, vectors: Float32Array[], base64: boolean, promptTokens: number): object {
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: base64 ? toBase64(vector) : [...vector],
    })),
    model,
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  }
}

/** Little-endian float32, as OpenAI's client expects when it asks for base64. */
export function toBase64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4)
  return bytes.toString('base64')
}
