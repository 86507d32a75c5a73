import type { Piece } from '../generate.ts'
import { StopFinder } from './stop-finder.ts'
import { parseToolCalls, toolMarkers, type ToolCall } from './tool-calls.ts'
import type { ToolUse } from './tools.ts'

/** A part of the answer for the client: a piece of text, or the final tool calls. */
export type AnswerPart = Piece | { calls: ToolCall[] }

/**
 * Separates text from tool calls. Text is passed on as it comes until something begins that may be a call; from there
 * it is held back until the end, and then sent as calls or, if it is none, as text.
 */
export async function* readAnswer(
  pieces: AsyncIterable<Piece>,
  tools: ToolUse | undefined,
): AsyncGenerator<AnswerPart> {
  if (!tools) {
    yield* pieces
    return
  }
  const finder = new StopFinder(toolMarkers)
  let call: string | undefined = tools.forced === undefined ? undefined : ''
  let lead = ''
  let hasBegun = false
  for await (const { text, tokens } of pieces) {
    if (call !== undefined) {
      call += text
      continue
    }
    lead += text
    if (!hasBegun && lead.trim() === '') continue
    // Some models make a call as a bare object at the very beginning.
    if (!hasBegun && lead.trimStart().startsWith('{')) {
      call = lead
      continue
    }
    hasBegun = true
    const found = finder.add(lead)
    lead = ''
    if (found.text !== '' || tokens.length > 0) yield { text: found.text, tokens }
    if (found.stop !== undefined) call = found.stop + finder.rest()
  }
  const rest = call ?? lead + finder.rest()
  const calls = call === undefined ? undefined : parseToolCalls(call, tools.names)
  if (calls) yield { calls }
  else if (rest !== '') yield { text: rest, tokens: [] }
}
