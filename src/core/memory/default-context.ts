/**
 * Models are trained for up to a million tokens, and a cache of that size is many times the model. This is enough for
 * most conversations; a model that needs more sets the option `context`.
 */
const USUAL_CONTEXT = 8192

/** The tokens of one request, for a model without an option `context`; undefined when its file does not say either. */
export function defaultContext(trained: number): number | undefined {
  return trained > 0 ? Math.min(trained, USUAL_CONTEXT) : undefined
}
