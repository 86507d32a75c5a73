import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { llamaEngine } from './support/worker/llama-engine.ts'
import { codeBlocks } from './docs/code-blocks.ts'
import { twoMachines, type Ground } from './docs/here.ts'
import { runPage } from './docs/run-page.ts'

/**
 * Everything that the pages tell people to type is run as it stands there (test/docs/code-blocks.ts has the convention), page
 * after page: what an earlier one has set up is there for those that follow.
 */
const page = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url))

/** With one machine, spoken to without TLS. */
const ALONE = [
  'install.md',
  'first-model.md',
  'routing.md',
  'memory.md',
  'engines.md',
  'load.md',
  'moving-in.md',
  'api.md',
  'metrics.md',
  'trouble.md',
]
/** With two, from the first on. */
const TOGETHER = ['add-a-node.md', 'rules-and-placement.md', 'operate.md', 'back-up.md', 'upgrade.md']
/** Pages with nothing to type, or nothing that can be run; their blocks are looked at. */
const READ_ONLY = [
  'README.md',
  'docs/guide/scale.md',
  'docs/guide/security.md',
  'docs/guide/traces.md',
  'ops/README.md',
  'models/skipper/README.md',
]

function aGround(env: Record<string, string> = {}): () => Ground {
  let ground: Ground
  let root: string
  beforeAll(async () => {
    const engine = await llamaEngine()
    root = mkdtempSync(join(tmpdir(), 'flotilla-docs-'))
    ground = await twoMachines(root, [engine], env)
  }, 300_000)
  afterAll(async () => {
    await ground.stop()
    rmSync(root, { recursive: true, force: true })
  }, 300_000)
  return () => ground
}

describe('with one machine', () => {
  const ground = aGround()
  beforeAll(() => prepare(ground().machines.first.folder, join(ground().machines.first.data, '../../..')))
  test.each(ALONE)('%s', { timeout: 300_000 }, async (name) => {
    expect((await runPage(page(`docs/guide/${name}`), ground().machines)).run).toBeGreaterThan(0)
  })
})

describe('with two machines', () => {
  // What is said of skipper has been done by now; this one starts sooner.
  const ground = aGround({ FLOTILLA_FIRST_MODEL: 'sim' })
  test.each(TOGETHER)('%s', { timeout: 300_000 }, async (name) => {
    expect((await runPage(page(`docs/guide/${name}`), ground().machines)).run).toBeGreaterThan(0)
  })
})

test('no page is left out, and what is not run says why', () => {
  const guide = readdirSync(page('docs/guide')).filter((name) => name.endsWith('.md'))
  const elsewhere = READ_ONLY.flatMap((name) => /^docs\/guide\/(.*)$/.exec(name)?.[1] ?? [])
  expect(guide.toSorted()).toEqual([...ALONE, ...TOGETHER, ...elsewhere].toSorted())
  const blocks = READ_ONLY.flatMap((name) =>
    codeBlocks(readFileSync(page(name), 'utf8')).map((block) => ({ name, ...block })),
  )
  expect(blocks.filter(({ kind }) => kind !== 'not run').map(({ name, line }) => `${name}:${line}`)).toEqual([])
})

/** What people have who move in: a file of llama-swap, and a folder of Ollama. */
function prepare(folder: string, home: string): void {
  cpSync(page('src/cli/import/testdata/llama-swap.yaml'), join(folder, 'config.yaml'))
  const store = join(home, '.ollama/models')
  const digest = 'a'.repeat(64)
  mkdirSync(join(store, 'blobs'), { recursive: true })
  cpSync(page('models/skipper/skipper.gguf'), join(store, 'blobs', `sha256-${digest}`))
  const manifest = join(store, 'manifests/registry.ollama.ai/library/small')
  mkdirSync(manifest, { recursive: true })
  const layers = [{ mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${digest}` }]
  writeFileSync(join(manifest, 'latest'), JSON.stringify({ layers }))
}
