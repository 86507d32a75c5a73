import { jsonFields, withoutPause } from '../../core/lib/json-fields.ts'

/**
 * The same JSON object with `model` in the place of its top-level "model", and every other byte as it was: numbers that
 * JavaScript cannot hold, spaces, whatever. Anything else than a JSON object is returned as it is; so is one without a
 * "model". There may be several: which one counts is for the engine to say, so none is left out.
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
