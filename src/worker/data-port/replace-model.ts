import { jsonFields, withoutPause } from '../../core/lib/json-fields.ts'

/**
 * Replaces the top-level "model" of a JSON object and keeps every other byte, including spaces and numbers that
 * JavaScript cannot hold. Anything but a JSON object, or an object without "model", is returned unchanged. If there are
 * several, all are replaced, because the engine decides which one counts.
 */
export function replaceModel(body: Buffer, model: string): Buffer {
  const values = withoutPause(jsonFields(body, ['model']))?.get('model')
  if (!values) return body
  const parts: Buffer[] = []
  let from = 0
  for (const [start, end] of values) {
    parts.push(body.subarray(from, start), Buffer.from(JSON.stringify(model)))
    from = end
  }
  return Buffer.concat([...parts, body.subarray(from)])
}
