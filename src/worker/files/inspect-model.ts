import type { MessageOf, ReplyOf } from '../../api/bus/subjects.ts'
import { toHeaderMessage } from '../../api/header-message.ts'
import { inspectModel } from '../../model-files/header/inspect.ts'
import { localModel } from '../../model-files/header/local-model.ts'
import { parseSource } from '../../model-files/source/source.ts'
import { AppError } from '../../platform/errors.ts'

/** A drive over the network may hang; whoever asks waits a little longer than this. */
const READ_WITHIN_MS = 15_000

/**
 * What the header of a model's file on this node says. Only `file:` sources, which nobody else can look into; anything
 * else that the model's options name is left to control.
 */
export async function inspectLocalModel({
  source,
  options,
}: MessageOf<'modelInspect'>): Promise<ReplyOf<'modelInspect'>> {
  if (parseSource(source).kind !== 'local') {
    throw new AppError('bad_request', 'Only file: sources can be looked into on a node.')
  }
  const find = async (text: string) => {
    const parsed = parseSource(text)
    return parsed.kind === 'local' ? localModel(parsed.path) : undefined
  }
  const { header } = await inspectModel({ source, options }, find, AbortSignal.timeout(READ_WITHIN_MS))
  // They are here: nothing is fetched.
  return { payload_bytes: 0, header: header && toHeaderMessage(header) }
}
