import { describe, expect, test } from 'vitest'
import { documentKeys } from '../../core/declare/document-keys.ts'
import { documentInput } from './document.ts'

const problemsOf = (document: unknown): string[] =>
  (documentInput.safeParse(document).error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`)

describe('a document', () => {
  test('may be empty, and a heading may have nothing below it', () => {
    const nothing = { models: [], rules: [], nodes: [] }
    expect(documentInput.parse({})).toEqual(nothing)
    expect(documentInput.parse({ models: null, rules: null, nodes: null })).toEqual(nothing)
  })

  test('holds models, rules and what is set on nodes, in the words of the API', () => {
    const document = {
      models: [{ name: 'qwen', engine: 'llama-server', memory: { vram: '12GiB' } }],
      rules: [{ model_name: 'qwen', replicas: 'all' }],
      nodes: [
        { name: 'thor', labels: { tier: 'fast' }, vram_budget: '80%', max_replicas_per_model: null, drain: false },
      ],
    }
    expect(documentInput.parse(document)).toMatchObject({
      models: [{ name: 'qwen', memory: { vram: '12GiB', ram: 0 } }],
      rules: [{ model_name: 'qwen', spread_all: true }],
      nodes: document.nodes,
    })
    expect(Object.keys(document)).toEqual(documentKeys)
  })

  test('that was read once can be read again', () => {
    const read = documentInput.parse({ rules: [{ model_name: 'm', replicas: 'all' }], nodes: [{ name: 'thor' }] })
    expect(documentInput.parse(JSON.parse(JSON.stringify(read)))).toEqual(read)
  })

  test.each<[unknown, string]>([
    [{ listen: '0.0.0.0:80' }, ': Unrecognized key: "listen"'],
    [{ models: {} }, 'models: must be a list'],
    [{ models: [{ name: 'm', engine: 'sim', colour: 1 }] }, 'models.0: Unrecognized key: "colour"'],
    [
      { models: [{ name: 'm', engine: 'sim', memory: { vram: '12 gallons' } }] },
      'models.0.memory.vram: "12 gallons" is no size',
    ],
    [{ rules: [{ model_name: 'm', min_replicas: 2, max_replicas: 1 }] }, 'rules.0.max_replicas: must be 0'],
    [{ nodes: [{ name: 'thor', slots: 2 }] }, 'nodes.0: Unrecognized key: "slots"'],
    [{ nodes: [{ name: 'thor', max_replicas_per_model: 0 }] }, 'nodes.0.max_replicas_per_model: must be at least 1'],
    [{ nodes: [{ name: 'thor', vram_budget: '120%' }] }, 'nodes.0.vram_budget: expected a share'],
    [{ nodes: [{ name: 'thor', vram_budget: 80 }] }, 'nodes.0.vram_budget: expected a share'],
    [{ nodes: [{ name: 'thor', labels: { tier: 1 } }] }, 'nodes.0.labels.tier: must be text; a number needs quotes'],
    [
      { nodes: [{ name: 'thor', labels: { 'node.replica-slots': '2' } }] },
      'nodes.0.labels: "node.replica-slots" shows',
    ],
    [{ nodes: [{ name: 'thor', drain: 'yes' }] }, 'nodes.0.drain: must be true or false'],
    [{ nodes: [{ name: 'a' }, { name: 'a' }] }, 'nodes.1.name: "a" is listed already, as entry 1: keep one of them'],
    [{ rules: [{ model_name: 'a' }, { model_name: 'a' }] }, 'rules.1.model_name: "a" is listed already'],
  ])('%j is refused by its place', (document, problem) => {
    const problems = problemsOf(document)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(problem)
  })
})
