import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { aCluster, flotilla, type Answers, type Person } from '../../../test/support/cli/cli.ts'
import { aPlanChange, aPlanStep, aPlanView, anImpossible } from '../../../test/support/control/plan-views.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'

const GIB = 2 ** 30

/** A plan with something of everything. */
export const fullPlan = aPlanView({
  changes: [
    aPlanChange({
      fields: [
        { field: 'engine', before: null, after: 'llama-server' },
        { field: 'source', before: null, after: 'https://me:secret@host/qwen.gguf?token=secret' },
      ],
    }),
    aPlanChange({ name: 'llama', action: 'change', fields: [{ field: 'options.context', before: 4096, after: 8192 }] }),
    aPlanChange({ name: 'old', action: 'remove' }),
    aPlanChange({
      noun: 'rule',
      name: 'llama',
      action: 'change',
      fields: [
        { field: 'min_replicas', before: 1, after: 2 },
        { field: 'node_selector', before: null, after: { tier: 'gpu', '!spot': '' } },
      ],
      warning:
        'It is in the configuration of a frontend: the next start of a frontend overwrites what is changed here.',
    }),
    aPlanChange({
      noun: 'node',
      name: 'thor',
      action: 'remove',
      fields: [{ field: 'drain', before: true, after: null }],
    }),
  ],
  steps: [
    aPlanStep({ kind: 'stop', key: 'llama#0', model_name: 'llama', why: 'old revision' }),
    aPlanStep({ kind: 'stop', key: 'old#0', model_name: 'old', node_name: 'loki', why: 'no model' }),
    aPlanStep({ kind: 'evict', key: 'idle#0', for_model: 'llama', devices: [{ index: 1, bytes: 8 * GIB }] }),
    aPlanStep({
      key: 'llama#0',
      devices: [
        { index: 0, bytes: 7 * GIB },
        { index: 1, bytes: 7 * GIB },
      ],
      bytes_to_move: 4.5 * GIB,
    }),
    aPlanStep({ source: 'unknown', bytes_to_move: null }),
  ],
  moves: [{ node_name: 'thor', bytes: 4.5 * GIB, unknown: 1 }],
  impossible: [
    anImpossible({
      refusals: [
        { node_name: 'thor', filter: 'memory', needed: 40 * GIB, available: 3 * GIB, where: 'gpu 0' },
        { node_name: 'loki', filter: 'slot', needed: 2, available: 1, where: null },
      ],
      more_refusals: 7,
      advice: ['add a node with 40.0 GiB of free VRAM', 'something else'],
    }),
    anImpossible({ model_name: 'known', missing: 2, is_new: false }),
  ],
  absent_nodes: ['odin'],
})

/** Runs a command that takes a document with this text. */
export async function runOnDocument(
  args: string[],
  answers: Answers,
  { text = 'models: []\n', person = {} }: { text?: string; person?: Person } = {},
) {
  const cluster = await aCluster(answers)
  const path = join(tempFolder(), 'cluster.yaml')
  writeFileSync(path, text)
  const said = await flotilla([...args, ...(args[0] === 'whatif' ? [] : ['-f', path]), '--data', cluster.data], person)
  return { ...said, path, data: cluster.data, calls: cluster.calls }
}
