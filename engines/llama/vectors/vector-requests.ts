import { badRequest } from '../../lib/api-error.ts'
import { isObject, toBoolean, toInputs, toInteger, toObject } from '../../lib/fields.ts'

export interface EmbeddingRequest {
  inputs: (string | number[])[]
  dimensions: number | undefined
  base64: boolean
}

export interface RankRequest {
  query: string
  documents: string[]
  most: number
  returnDocuments: boolean
}

const MOST_INPUTS = 2048
const MOST_DOCUMENTS = 1024

export function parseEmbedding(value: unknown): EmbeddingRequest {
  const body = toObject(value)
  const inputs = toInputs(body['input'], 'input')
  if (inputs.length === 0 || inputs.some(({ length }) => length === 0)) {
    throw badRequest("'input' must not be empty.", 'input')
  }
  if (inputs.length > MOST_INPUTS) throw badRequest(`'input' takes at most ${MOST_INPUTS} texts.`, 'input')
  const format = body['encoding_format'] ?? 'float'
  if (format !== 'float' && format !== 'base64') {
    throw badRequest("'encoding_format' must be 'float' or 'base64'.", 'encoding_format')
  }
  return { inputs, dimensions: toInteger(body, 'dimensions', 1, 1_000_000), base64: format === 'base64' }
}

export function parseRank(value: unknown): RankRequest {
  const body = toObject(value)
  const { query, documents } = body
  if (typeof query !== 'string' || query === '') throw badRequest("'query' must be a text.", 'query')
  if (!Array.isArray(documents) || documents.length === 0 || documents.length > MOST_DOCUMENTS) {
    throw badRequest(`'documents' must be a list of 1 to ${MOST_DOCUMENTS} texts.`, 'documents')
  }
  return {
    query,
    documents: documents.map((document: unknown) => {
      const text = isObject(document) ? document['text'] : document
      if (typeof text === 'string' && text !== '') return text
      throw badRequest("Each of the 'documents' must be a text.", 'documents')
    }),
    most: toInteger(body, 'top_n', 1, Number.MAX_SAFE_INTEGER) ?? documents.length,
    returnDocuments: toBoolean(body, 'return_documents'),
  }
}
