import type { LlamaEngine } from './engine.ts'

type Line = [name: string, kind: 'counter' | 'gauge', help: string, value: number]

/** For Prometheus, under the names of llama.cpp's own server where it has one, so that its dashboards work. */
export function metricsText(engine: LlamaEngine): string {
  const { counters, slots } = engine
  const lines: Line[] = [
    ['llamacpp:prompt_tokens_total', 'counter', 'Tokens of prompts.', counters.promptTokens],
    ['llamacpp:prompt_tokens_cached_total', 'counter', 'Of these, not read again.', counters.cachedTokens],
    ['llamacpp:tokens_predicted_total', 'counter', 'Tokens of answers.', counters.completionTokens],
    ['llamacpp:requests_processing', 'gauge', 'Requests worked on.', slots.inUse],
    ['llamacpp:requests_deferred', 'gauge', 'Requests that wait.', slots.queued],
    ['llamacpp:requests_total', 'counter', 'Requests that came.', counters.requests],
    ['llamacpp:requests_finished_total', 'counter', 'Requests answered to the end.', counters.finished],
    ['llamacpp:requests_aborted_total', 'counter', 'Requests whose client went away.', counters.aborted],
    ['llamacpp:requests_rejected_total', 'counter', 'Requests refused because the queue was full.', counters.rejected],
  ]
  return lines
    .map(([name, kind, help, value]) => `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${name} ${value}\n`)
    .join('')
}
