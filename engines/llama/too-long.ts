import { badRequest, type ApiError } from '../lib/api-error.ts'

/** OpenAI's wording, which clients search for. */
export function tooLong(contextTokens: number, promptTokens: number, param: string): ApiError {
  return badRequest(
    `This model's maximum context length is ${contextTokens} tokens. However, your ${param} resulted in ` +
      `${promptTokens} tokens. Please reduce the length of the ${param}.`,
    param,
    'context_length_exceeded',
  )
}
