import type { MessageOf, ReplyOf } from '../../api/bus/subjects.ts'
import { toHeaderMessage } from '../../api/header-message.ts'
import { inspectModel } from '../../model-files/header/inspect.ts'
import { localModel } from '../../model-files/header/local-model.ts'
import { parseSource } from '../../model-files/source/source.ts'
import { AppError } from '../../platform/errors.ts'

/** A network drive may hang; the caller waits a little longer than this. */
const READ_WITHIN_MS = 15_000

/**
 * What the header of a model's file on this node says. Only for `file:` sources, which only this node can read; control
 * inspects the other sources.
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
  // The files are in place: nothing is fetched.
  return { payload_bytes: 0, header: header && toHeaderMessage(header) }
}
