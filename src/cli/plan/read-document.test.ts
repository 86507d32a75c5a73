import { describe, expect, test } from 'vitest'
import { aCluster, flotilla } from '../../../test/support/cli/cli.ts'
import { runOnDocument } from './document-suite.ts'

describe('a document with a mistake', () => {
  test.each([
    [
      'models:\n  - name: m\n    engine: sim\n    colour: red\n',
      ':4: models[1].colour: there is no such setting; known are',
    ],
    ['models:\n  - name: m\n    engin: sim\n', ':3: models[1].engin: there is no such setting; did you mean engine?'],
    [
      'models:\n  - name: m\n    engine: sim\n    memory:\n      vram: much\n',
      ':5: models[1].memory.vram: "much" is no size',
    ],
    ['nodes:\n  - name: a\n\n  - name: b\n    drain: maybe\n', ':5: nodes[2].drain: must be true or false.'],
    ['rules:\n  - model_name: m\n  - model_name: m\n', ':3: rules[2].model_name: "m" is listed already, as entry 1'],
    ['rules:\n  - min_replicas: 1\n', ':2: rules[1].model_name: '],
    ['rule: []\n', ':1: rule: there is no such setting; did you mean rules?'],
    ['listen: 0.0.0.0:80\n', 'Options of Flotilla itself belong into its configuration, another file.'],
    ['models: {}\n', ':1: models: must be a list.'],
    ['- name: m\n', ':1: expected models, rules, nodes with a list below each.'],
    ['models: [\n', ':2:1: not valid YAML'],
    [
      'a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n',
      'there is no such setting',
    ],
  ])('%j is told with its line', async (text, problem) => {
    const { code, stderr, path, calls } = await runOnDocument(['plan'], {}, { text })
    expect({ code, calls }).toEqual({ code: 2, calls: [] })
    expect(stderr).toContain(path)
    expect(stderr).toContain(problem)
  })

  test('says ten of them at once', async () => {
    const text = `models:\n${Array.from({ length: 14 }, (_, i) => `  - name: m${i}\n`).join('')}`
    const { stderr } = await runOnDocument(['plan'], {}, { text })
    expect(stderr.trim().split('\n')).toHaveLength(11)
    expect(stderr).toContain('and 4 more.')
  })

  test('that is not there, or is no document by its size', async () => {
    const { data } = await aCluster({})
    const missing = await flotilla(['plan', '-f', '/nowhere/x.yaml', '--data', data])
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('Cannot read /nowhere/x.yaml') })
    const large = await runOnDocument(['plan'], {}, { text: `# ${'x'.repeat(1024 * 1024)}` })
    expect(large).toMatchObject({ code: 2, stderr: expect.stringContaining('more than 1048576 bytes') })
  })
})
