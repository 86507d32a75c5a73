import { badRequest, type ApiError } from '../lib/api-error.ts'

/** In OpenAI's words, which clients look for. */
export function tooLong(contextTokens: number, promptTokens: number, param: string): ApiError {
  return badRequest(
    `This model's maximum context length is ${contextTokens} tokens. However, your ${param} resulted in ` +
      `${promptTokens} tokens. Please reduce the length of the ${param}.`,
    param,
    'context_length_exceeded',
  )
}
