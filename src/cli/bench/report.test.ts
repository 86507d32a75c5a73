import { describe, expect, test } from 'vitest'
import { aPart, aPlan } from '../../../test/support/cli/bench-plan.ts'
import { painter } from '../terminal/style.ts'
import { widthOf } from '../terminal/text-width.ts'
import type { Balance } from './load/balance.ts'
import { renderPage } from './html/page.ts'
import { jsonReport } from './json-report.ts'
import type { Outcome } from './load/outcome.ts'
import { renderReport } from './render-report.ts'
import { makeReport, type ReportInput } from './report.ts'
import { Results } from './results.ts'

const AN_OUTCOME: Outcome = {
  endMs: 300,
  firstMs: 100,
  text: '',
  tokensIn: 20,
  tokensOut: 10,
  isEstimated: false,
  isSentAgain: false,
  requestId: undefined,
  replica: undefined,
  failure: undefined,
}
const REFUSED = { kind: 'refused', detail: '429 queue_full', message: 'Too many for the key s3cret.' } as const

const BALANCE: Balance = {
  known: true,
  from: 'a sample',
  replicas: [
    { replica: 'm#1', node: 'gpu-1', answers: 8 },
    { replica: 'm#0', node: 'gpu-2', answers: 4 },
  ],
}

/** Ten requests a second apart: nine answered, one refused; and one that was not sent. */
function results(models = ['m']): Results {
  const all = new Results(models, { warmUpMs: 0, stepMs: 1000 })
  for (const model of models) {
    for (let i = 0; i < 10; i += 1) {
      const line = all.due(model, i * 1000)
      line.sent(1, 1)
      line.gap(20)
      line.ended({ ...AN_OUTCOME, failure: i === 9 ? REFUSED : undefined }, 0, i * 1000 + 300)
    }
    all.due(model, 9500).notSent()
  }
  return all
}

function aReport(input: Partial<ReportInput> = {}) {
  return makeReport({
    plan: aPlan({ part: { prompt: { least: 50, most: 400 }, streamShare: 0.8 } }),
    results: results(),
    balances: new Map([['m', BALANCE]]),
    url: 'http://user:s3cret@127.0.0.1:8080/',
    version: '1.2.3',
    startedAt: '2026-01-02T03:04:05Z',
    isInterrupted: false,
    cpuShare: 0.1,
    secret: 's3cret',
    ...input,
  })
}

const VIEW = { nowMs: 0, width: 80, paint: painter(false), sameCluster: '' }

describe('the report', () => {
  test('has the figures of all that was due', () => {
    const { all, elapsed_s: elapsedS, timeline } = aReport()
    expect(elapsedS).toBe(10)
    expect(all).toMatchObject({
      requests: { due: 11, sent: 10, not_sent: 1, answered: 9, streamed: 9, failed: 1, cut: 0, empty: 0 },
      answered_per_s: 0.9,
      tokens_in_per_s: 18,
      tokens_out: 90,
      tokens_from: 'usage',
      first_token_ms: { count: 9, p50: 100, max: 100 },
      whole_ms: { p99: 300 },
      errors: [{ kind: 'refused', detail: '429 queue_full', count: 1 }],
    })
    expect(timeline).toMatchObject({ step_s: 1, answered: [1, 1, 1, 1, 1, 1, 1, 1, 1, 0] })
  })

  test('counts until the last answer, where that came after the time was up', () => {
    const late = results()
    late.due('m', 9999).ended(AN_OUTCOME, 0, 20_000)
    expect(aReport({ results: late })).toMatchObject({ elapsed_s: 20, all: { answered_per_s: 0.5 } })
  })

  test('holds no secret, in any of its forms', () => {
    const report = aReport()
    for (const text of [
      JSON.stringify(jsonReport(report)),
      renderReport(report, VIEW).join('\n'),
      renderPage(report),
    ]) {
      expect(text).not.toContain('s3cret')
      expect(text).toContain('Too many for the key …')
    }
  })

  test('says where tokens are estimated', () => {
    const some = results()
    some.due('m', 0).ended({ ...AN_OUTCOME, isEstimated: true }, 0, 300)
    expect(aReport({ results: some }).all.tokens_from).toBe('usage, some estimated')
  })

  test('as JSON has names as the API has them', () => {
    expect(jsonReport(aReport())).toMatchObject({
      url: 'http://127.0.0.1:8080',
      plan: {
        for_s: 10,
        requests: null,
        models: [{ model: 'm', rate_per_s: 1, prompt_tokens: [50, 400], stream_share: 0.8, think_ms: [0, 0] }],
      },
    })
  })
})

describe('the report in a terminal', () => {
  test('is one screen', () => {
    expect(renderReport(aReport(), VIEW).join('\n')).toMatchInlineSnapshot(`
      "http://127.0.0.1:8080, constant arrivals for 10s, seed 1
        m: 1.0/s, prompts of 50 to 400 tokens, answers of 1, 80 % streamed

      MODEL  DUE  ANSWERED  FAILED  NOT SENT  ANSWERS/S  TOKENS IN/S  TOKENS OUT/S
      m       11         9       1         1       0.90         18.0           9.0

      TIME TO       MODEL     P50     P90     P95     P99     MAX
      first token   m      100 ms  100 ms  100 ms  100 ms  100 ms
      next token    m       20 ms   20 ms   20 ms   20 ms   20 ms
      whole answer  m      300 ms  300 ms  300 ms  300 ms  300 ms

      ANSWERED BY
      m#1 on gpu-1  ████████████████████████          8   67 %
      m#0 on gpu-2  ████████████                      4   33 %
      m: a sample of 12 of its last answers

      FAILED  HOW
           1  refused 429 queue_full  Too many for the key ….

      99 % of the requests were sent within 1.0 ms of when they were due.
      1 request was not sent, since 1,000 were in flight: the cluster is slower than
      the rate. Times are those of the others.
      Quantiles are within 1 % of the true ones."
    `)
  })

  test('fits any width from 80 columns on, with several models and long names', () => {
    const names = ['organisation/a-model-with-a-very-long-name-Q4_K_M', '船団', 'm']
    const report = aReport({
      results: results(names),
      plan: aPlan({ parts: names.map((model) => aPart({ model, ratePerS: 1234 })) }),
      balances: new Map(names.map((name) => [name, BALANCE])),
      isInterrupted: true,
      cpuShare: 0.97,
    })
    for (const width of [80, 120]) {
      for (const line of renderReport(report, { ...VIEW, width }))
        expect(widthOf(line), line).toBeLessThanOrEqual(width)
    }
  })

  test('warns where the figures are not those of the cluster alone', () => {
    const late = results()
    for (let i = 0; i < 10; i += 1) late.due('m', 0).sent(500, 1)
    const text = renderReport(aReport({ results: late, cpuShare: 0.99, isInterrupted: true }), VIEW).join(' ')
    for (const words of ['Ended by Ctrl-C', 'This program was late', '99 % of a core', 'not sent']) {
      expect(text.replaceAll(/\s+/g, ' ')).toContain(words)
    }
  })

  test('says why it is not known who answered', () => {
    const balances = new Map([['m', { known: false as const, why: 'this key is not for that' }]])
    expect(renderReport(aReport({ balances }), VIEW)).toContain('m: not known: this key is not for that.')
  })

  test('with nothing answered there are no times to tell', () => {
    const none = new Results(['m'], { warmUpMs: 0, stepMs: 1000 })
    const lines = renderReport(aReport({ results: none, balances: new Map() }), VIEW)
    expect(lines).toContain('m: not known: nothing was answered.')
    expect(lines.join('\n')).not.toContain('first token')
  })
})

describe('the report as a page', () => {
  test('is one file without scripts or anything from elsewhere', () => {
    const page = renderPage(aReport())
    expect(page).not.toMatch(/<script|<link|<img|\bon\w+=|url\(|@import|https?:\/\/(?!127)/)
    for (const title of ['Time to the first token over time', 'Requests a second', 'Answered by', 'What failed']) {
      expect(page).toContain(title)
    }
    expect(page).not.toMatch(/NaN|Infinity|undefined/)
  })

  test('takes names for text, whatever they hold', () => {
    const name = '<b onclick="x()">&amp;</b>'
    const plan = aPlan({ parts: [aPart({ model: name })] })
    const page = renderPage(aReport({ plan, results: results([name]) }))
    expect(page).not.toContain('<b onclick')
    expect(page).toContain('&#60;b onclick=&#34;x()&#34;&#62;&#38;amp;&#60;/b&#62;')
  })

  test('is whole also where nothing was answered', () => {
    const none = new Results(['m'], { warmUpMs: 0, stepMs: 1000 })
    const page = renderPage(aReport({ results: none, balances: new Map() }))
    expect(page).toContain('</html>')
    expect(page).not.toMatch(/NaN|Infinity|undefined/)
  })
})
