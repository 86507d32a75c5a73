import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { aCluster, flotilla, refused, type Answers, type Person } from '../../../test/support/cli/cli.ts'
import { aPlanChange, aPlanView } from '../../../test/support/control/plan-views.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { fullPlan, runOnDocument } from './document-suite.ts'

describe('flotilla apply', () => {
  const applied = { revision: 'rev2', changes: fullPlan.changes, absent_nodes: [] }
  const answers: Answers = { 'POST /api/plan': fullPlan, 'POST /api/apply': applied }
  const sent = (calls: readonly unknown[]) =>
    calls
      .filter((call): call is [string, { revision?: string }] => Array.isArray(call))
      .map(([call, { revision }]) => [call, revision])
  const yes = { terminal: { interactive: true, ask: () => Promise.resolve('y') } }
  const no = { terminal: { interactive: true, ask: () => Promise.resolve('') } }

  test.each<[string, string[], Person]>([
    ['after a yes', [], yes],
    ['without asking', ['--yes'], {}],
  ])('applies what was planned, %s', async (_, flags, person) => {
    const { code, stdout, calls, data } = await runOnDocument(['apply', ...flags], answers, { person })
    expect(code).toBe(0)
    expect(sent(calls)).toEqual([
      ['POST /api/plan', undefined],
      ['POST /api/apply', 'rev1'],
    ])
    expect(stdout).toContain('1 to add, 2 to change, 2 to remove.')
    expect(stdout).toContain(`Applied 5 changes.\nflotilla status --data ${data} shows what becomes of it.\n`)
  })

  test('a no changes nothing', async () => {
    const { code, stderr, calls } = await runOnDocument(['apply'], answers, { person: no })
    expect({ code, sent: sent(calls).length }).toEqual({ code: 1, sent: 1 })
    expect(stderr).toContain('Nothing was applied.')
  })

  test('without a terminal it needs --yes', async () => {
    const { code, stderr, calls } = await runOnDocument(['apply'], answers)
    expect({ code, sent: sent(calls).length }).toEqual({ code: 2, sent: 1 })
    expect(stderr).toContain('add --yes to apply the plan')
  })

  test('with nothing to change it does not ask', async () => {
    const { code, stdout } = await runOnDocument(['apply'], { 'POST /api/plan': aPlanView() })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'There is nothing to change.\n' })
  })

  test('when something has changed since, the new plan is shown and nothing is applied', async () => {
    let plans = 0
    const newer = aPlanView({ revision: 'rev9', changes: [aPlanChange({ name: 'newer' })] })
    const { code, stdout, stderr, path } = await runOnDocument(['apply', '--yes'], {
      'POST /api/plan': () => ((plans += 1) === 1 ? fullPlan : newer),
      'POST /api/apply': refused(409, 'conflict', 'Something has changed since this was planned.'),
    })
    expect(code).toBe(3)
    expect(stderr).toContain('Something has changed since this was planned, so nothing was applied.')
    expect(stdout).toContain('  + newer\n')
    expect(stdout).toContain(`flotilla apply -f ${path}`)
  })

  test('any other refusal is told as it is', async () => {
    const refusal = refused(400, 'bad_request', 'document.models.0.name: wrong.')
    const { code, stderr } = await runOnDocument(['apply', '--yes'], { ...answers, 'POST /api/apply': refusal })
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'document.models.0.name: wrong.\n' })
  })

  test('--json prints the answer alone', async () => {
    const { stdout } = await runOnDocument(['apply', '--yes', '--json'], answers)
    expect(JSON.parse(stdout)).toEqual(applied)
  })
})

describe('flotilla export', () => {
  const document = {
    models: [{ name: 'qwen', engine: 'sim', options: { seed: '7', flag: true }, memory: { vram: '12GiB', ram: 0 } }],
    rules: [{ model_name: 'qwen', node_selector: { tier: 'yes', '!spot': '' } }],
    nodes: [{ name: 'тор 🚢', labels: { on: 'off', n: '0x10', empty: '' } }],
  }

  test('prints YAML that is read back as it was', async () => {
    const cluster = await aCluster({ 'GET /api/export': document, 'POST /api/plan': aPlanView() })
    const { code, stdout } = await flotilla(['export', '--data', cluster.data])
    expect(code).toBe(0)
    const path = join(tempFolder(), 'cluster.yaml')
    writeFileSync(path, stdout)
    await flotilla(['plan', '-f', path, '--data', cluster.data])
    expect(cluster.calls.at(-1)).toMatchObject(['POST /api/plan', { document }])
  })

  test('or JSON', async () => {
    const { data } = await aCluster({ 'GET /api/export': document })
    expect(JSON.parse((await flotilla(['export', '--json', '--data', data])).stdout)).toEqual(document)
  })
})
