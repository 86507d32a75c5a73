import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { KeyCreated } from '../src/api/admin/schemas.ts'
import { Cluster } from './support/cluster.ts'
import { readExposition, type ReadFamily } from './support/http/exposition.ts'
import { startGatewayProcess } from './support/flotilla.ts'
import { opsExpressions } from './support/ops-files.ts'
import { readPromql } from './support/promql.ts'
import { until } from './support/until.ts'

test('a cluster under load shows all that the dashboard and the alerts ask for', { timeout: 90_000 }, async () => {
  const cluster = await Cluster.start('--auto-approve')
  const { frontend } = cluster
  cluster.worker('a')
  await cluster.isHealthy('a')
  await cluster.model('m', 1)
  const adminKey = readFileSync(join(frontend.data, 'admin.key'), 'utf8').trim()
  const gateway = await startGatewayProcess({ env: { FLOTILLA_KEY: adminKey }, args: ['--url', frontend.url] })
  const messages = [{ role: 'user', content: 'Hi' }]
  const ask = async (url: string, more: object): Promise<number> => {
    const body = JSON.stringify({ model: 'm', messages, max_tokens: 8, ...more })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
    await response.text()
    return response.status
  }
  for (const { url } of [frontend, gateway]) {
    expect(await ask(url, {})).toBe(200)
    expect(await ask(url, { stream: true, stream_options: { include_usage: true } })).toBe(200)
  }
  const { key } = await cluster.ask<KeyCreated>('POST', '/api/keys', { name: 'prometheus', scopes: ['read'] })
  const bearer = { authorization: `Bearer ${key}` }

  // As Prometheus does: frontends and gateways by their addresses, workers where the frontend says.
  const discovered = await fetch(`${frontend.url}/api/metrics/targets`, { headers: bearer })
  const targets = (await discovered.json()) as { targets: [string]; labels: Record<string, string> }[]
  expect(targets.map(({ labels }) => labels['node'])).toEqual(['a'])
  const {
    targets: [host],
    labels,
  } = targets[0]!
  const urls = [`${frontend.url}/metrics`, `${gateway.url}/metrics`, `http://${host}${labels['__metrics_path__']}`]
  // A key is known to gateways a moment after it was made.
  for (const url of urls) await until(async () => (await fetch(url, { headers: bearer })).status === 200)
  const shown = new Map<string, ReadFamily['samples']>()
  await until(async () => {
    shown.clear()
    for (const url of urls) {
      const open = await fetch(url, { headers: { ...bearer, accept: 'application/openmetrics-text; version=1.0.0' } })
      const plain = await fetch(url, { headers: bearer })
      const isWorker = url.includes('/api/nodes/')
      const type = isWorker
        ? 'text/plain; version=0.0.4; charset=utf-8'
        : 'application/openmetrics-text; version=1.0.0; charset=utf-8'
      expect([open.status, open.headers.get('content-type')]).toEqual([200, type])
      readExposition(await open.text(), isWorker ? 'prometheus' : 'openmetrics')
      for (const { samples } of readExposition(await plain.text(), 'prometheus').values())
        for (const sample of samples) shown.set(sample.name, [...(shown.get(sample.name) ?? []), sample])
    }
    return valueOf('flotilla_tokens_total', { model: 'm', direction: 'output' }) > 0
  })
  function valueOf(name: string, wanted: Record<string, string>): number {
    const fits = (has: Record<string, string>): boolean =>
      Object.entries(wanted).every(([key, value]) => has[key] === value)
    return (shown.get(name) ?? []).filter(({ labels }) => fits(labels)).reduce((sum, { value }) => sum + value, 0)
  }

  expect(valueOf('flotilla_requests_total', { model: 'm', status: '200' })).toBeGreaterThanOrEqual(4)
  expect(valueOf('flotilla_time_to_first_token_seconds_count', { model: 'm' })).toBeGreaterThanOrEqual(2)
  expect(valueOf('flotilla_inter_token_latency_seconds_count', { model: 'm' })).toBeGreaterThanOrEqual(2)
  expect(valueOf('flotilla_tokens_total', { model: 'm', direction: 'input' })).toBeGreaterThan(0)
  expect(valueOf('flotilla_load_phase_seconds_count', { model: 'm', phase: 'loading' })).toBe(1)
  expect([valueOf('flotilla_leading', {}), valueOf('flotilla_placements_total', { model: 'm' })]).toEqual([1, 1])

  // What nothing has happened to yet is not shown: these ask for what went wrong, or for waits.
  const quiet = /_(retries|ejections|evictions|queue_wait|load_wait|unplaced|refusals)/
  for (const { where, expression } of opsExpressions()) {
    for (const { metric, labels } of readPromql(expression)) {
      if (quiet.test(metric)) continue
      const [sample] = shown.get(metric) ?? []
      expect(sample, `${where}: ${metric}`).toBeDefined()
      for (const label of labels)
        if (label !== 'instance') expect(sample!.labels, `${where}: ${metric}`).toHaveProperty(label)
    }
  }
})
