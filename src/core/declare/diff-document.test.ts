import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aModel, aRule } from '../../../test/support/builders.ts'
import type { Rule } from '../types.ts'
import { absentNodes, diffDocument } from './diff-document.ts'
import { aDeclaration, nodeSettings, someOverrides, someSettings } from './settings-suite.ts'
import type { Declaration, NodeEntry, Settings } from './types.ts'

const keep = { prune: false }
const prune = { prune: true }

/** A document that says all there is. */
function documentOf({ models, rules, nodes }: Settings): Declaration {
  return { models, rules, nodes: nodes.map(({ name, overrides }) => ({ name, ...overrides })) }
}

describe('models', () => {
  test('are added, changed and left alone; those that are not listed stay', () => {
    const settings = someSettings({ models: [aModel({ name: 'a' }), aModel({ name: 'b' }), aModel({ name: 'c' })] })
    const changed = aModel({ name: 'b', options: { context: 4096 }, revision: 'r2' })
    const models = [aModel({ name: 'd' }), changed, aModel({ name: 'a' })]
    expect(diffDocument(settings, aDeclaration({ models }), keep)).toEqual([
      { noun: 'model', name: 'b', before: settings.models[1], after: changed },
      { noun: 'model', name: 'd', after: models[0] },
    ])
  })

  test('that need other memory are changed, although their revision is the same', () => {
    const after = aModel({ memory: { vram: 1, ram: 0 } })
    expect(diffDocument(someSettings(), aDeclaration({ models: [after] }), keep)).toMatchObject([{ name: 'm', after }])
  })

  test('that are not listed go when that is asked for', () => {
    const changes = diffDocument(someSettings({ rules: [], nodes: [] }), aDeclaration(), prune)
    expect(changes).toEqual([{ noun: 'model', name: 'm', before: aModel() }])
  })

  test('with what the store knows of them beside their meaning are the same', () => {
    const stored = { ...aModel(), createdMs: 1, updatedMs: 2 }
    expect(diffDocument(someSettings({ models: [stored] }), aDeclaration({ models: [aModel()] }), keep)).toEqual([])
  })
})

describe('rules', () => {
  test('differ by their settings, not by what came of them or their source', () => {
    const rules: Rule[] = [aRule({ source: 'config', unsatisfiableUntilMs: 9, unsatisfiableTicks: 3 })]
    const same = aDeclaration({ rules: [aRule()] })
    expect(diffDocument(someSettings({ rules }), same, keep)).toEqual([])
    const more = aDeclaration({ rules: [aRule({ minReplicas: 2 })] })
    expect(diffDocument(someSettings({ rules }), more, keep)).toMatchObject([
      { noun: 'rule', name: 'm', before: { minReplicas: 1 }, after: { minReplicas: 2 } },
    ])
  })

  test('of the configuration are not pruned: the next start would bring them back', () => {
    const rules = [aRule({ modelName: 'a' }), aRule({ modelName: 'b', source: 'config' })]
    const changes = diffDocument(someSettings({ models: [], rules, nodes: [] }), aDeclaration(), prune)
    expect(changes).toEqual([{ noun: 'rule', name: 'a', before: rules[0] }])
  })
})

describe('what is set on nodes', () => {
  const set = { labels: { tier: 'fast' }, slots: 2, budget: '80%', isDraining: true }
  const diff = (entry: Omit<NodeEntry, 'name'>, options = keep, before = set) =>
    diffDocument(
      someSettings({ models: [], rules: [], nodes: [nodeSettings('n1', before)] }),
      aDeclaration({ nodes: [{ name: 'n1', ...entry }] }),
      options,
    ).map((change) => (change.noun === 'node' ? change.after : undefined))

  test.each<[string, Omit<NodeEntry, 'name'>, object[]]>([
    ['what is not named stays', {}, []],
    ['what is the same is no change', { labels: { tier: 'fast' }, slots: 2 }, []],
    ['labels are replaced whole', { labels: { zone: 'a' } }, [{ ...set, labels: { zone: 'a' } }]],
    [
      'null takes back what was set',
      { labels: null, slots: null, budget: null },
      [someOverrides({ isDraining: true })],
    ],
    ['only a word resumes a node', { isDraining: false }, [{ ...set, isDraining: false }]],
  ])('%s', (_, entry, after) => {
    expect(diff(entry)).toEqual(after)
  })

  test('goes when it is not listed and that is asked for, except for a drain', () => {
    expect(diff({}, prune)).toEqual([someOverrides({ isDraining: true })])
    expect(diff({ slots: 2 }, prune)).toEqual([someOverrides({ slots: 2, isDraining: true })])
    const settings = someSettings({ models: [], rules: [], nodes: [nodeSettings('n1', { isDraining: true })] })
    expect(diffDocument(settings, aDeclaration(), prune)).toEqual([])
  })

  test('on a node that is not there changes nothing, and is told', () => {
    const wanted = aDeclaration({ nodes: [{ name: 'odin', slots: 2 }, { name: 'n1' }] })
    expect(diffDocument(someSettings(), wanted, keep)).toEqual([])
    expect(absentNodes(someSettings(), wanted)).toEqual(['odin'])
  })
})

test('a document of all there is changes nothing, pruned or not', () => {
  const name = fc.constantFrom('a', 'b', 'c', '__proto__', 'юг')
  const settings = fc.record({
    models: fc.uniqueArray(name).map((names) => names.map((one) => aModel({ name: one }))),
    rules: fc
      .uniqueArray(name)
      .map((names) =>
        names.map((modelName, i) => aRule({ modelName, minReplicas: i, source: i % 2 ? 'api' : 'config' })),
      ),
    nodes: fc
      .uniqueArray(fc.record({ name, slots: fc.option(fc.nat({ max: 3 })), isDraining: fc.boolean(), label: name }), {
        selector: (one) => one.name,
      })
      .map((all) =>
        all.map(({ name: one, label, ...rest }) => nodeSettings(one, { ...rest, labels: { [label]: 'x' } })),
      ),
  })
  fc.assert(
    fc.property(settings, fc.boolean(), (all, isPruned) => {
      expect(diffDocument(all, documentOf(all), { prune: isPruned })).toEqual([])
    }),
  )
})
