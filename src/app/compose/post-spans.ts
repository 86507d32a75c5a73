import { requestJson, StrangeAnswerError } from '../../http/client.ts'
import { messageOf } from '../../platform/errors.ts'

/** Sends a body of spans to a collector. Returns why it was not taken, if it was not. */
export async function postSpans(url: URL, body: unknown, timeoutMs: number): Promise<string | undefined> {
  try {
    const { status } = await requestJson(url, { method: 'POST', body, timeoutMs })
    return status < 300 ? undefined : `status ${status}`
  } catch (error) {
    // Some collectors answer with nothing at all, which is no JSON and no refusal.
    const isTaken = error instanceof StrangeAnswerError && error.status < 300
    return isTaken ? undefined : messageOf(error)
  }
}
