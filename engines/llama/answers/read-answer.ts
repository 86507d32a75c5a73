import type { Piece } from '../generate.ts'
import { StopFinder } from './stop-finder.ts'
import { parseToolCalls, toolMarkers, type ToolCall } from './tool-calls.ts'
import type { ToolUse } from './tools.ts'

/** What a client is told: a piece of text, or the calls that the answer ends with. */
export type AnswerPart = Piece | { calls: ToolCall[] }

/**
 * Tells text and tool calls apart. Text is passed on as it comes until something begins that may be a call; from there
 * on it is kept until the end, when it either is one or is told after all.
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
    // A bare object at the very beginning is how some models call.
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
