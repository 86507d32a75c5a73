import { describe, expect, test } from 'vitest'
import { listLearned, namesLearnedOf } from '../../store/nouns/learned-memory.ts'
import { listLoadInfo } from '../../store/nouns/load-info.ts'
import { listFacts } from '../../store/nouns/model-facts.ts'
import { KEPT_OF_OTHERS, pruneModelRows } from '../../store/nouns/prune-models.ts'
import { loadViewedWorld, newViewMemory } from '../../store/world/viewed-world.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'

const TABLES = ['model_load_info', 'model_facts', 'learned_memory'] as const
const OTHERS = KEPT_OF_OTHERS + 20

/** What is known of models that are gone; run on each kind of store. */
export function describePruning(storeName: string, openStore: OpenStore): void {
  describe(`rows of models that are gone, on ${storeName}`, () => {
    const scene = sceneOn(openStore)

    /** The model `m`, which exists, and others that do not. The rows of `m` are the oldest of all. */
    async function knownModels(): Promise<void> {
      await scene().wants(0)
      await scene().db.transaction(async (tx) => {
        const [model] = await tx.query<{ revision: string }>(`select revision from models where name = 'm'`)
        const rows = [
          ['m', model!.revision, 1],
          ['m', 'an older revision', 2],
        ] as [string, string, number][]
        for (let i = 0; i < OTHERS; i += 1) rows.push([`gone${i}`, 'r', 1000 + i])
        for (const row of rows) {
          await tx.query(
            `insert into learned_memory (model_name, revision, engine_version, device_kind, vram, ram, learned_from, updated_at)
             values ($1, $2, '', 'cpu', 1, 1, 'measured', (select now_ms()) - 10000 + $3)`,
            row,
          )
          if (row[1] === 'an older revision') continue
          await tx.query('insert into model_facts (model_name, revision, read_at) values ($1, $2, $3)', row)
          await tx.query(
            `insert into model_load_info (model_name, revision, loaded_at, engine, options, node_name, load_ms)
             values ($1, $2, $3, 'sim', '{}', 'thor', 5)`,
            row,
          )
        }
      })
    }
    const prune = () => scene().db.transaction(pruneModelRows)
    const countOf = async (table: string, where: string): Promise<number> => {
      const rows = await scene().db.query<{ n: number }>(`select count(*) as n from ${table} where ${where}`)
      return rows[0]!.n
    }

    test('views and turns read none of them', async () => {
      await knownModels()
      const { db } = scene()
      const named = (rows: readonly { modelName: string }[]): string[] => rows.map(({ modelName }) => modelName)
      expect(named(await listLoadInfo(db))).toEqual(['m'])
      expect(named(await listFacts(db))).toEqual(['m'])
      expect(named(await listFacts(db, ['m', 'gone1']))).toEqual(['m'])
      expect(named(await listLearned(db))).toEqual(['m'])
      expect(await namesLearnedOf(db, 60_000)).toEqual(['m'])
      const { world, loaded } = await loadViewedWorld(db, newViewMemory())
      expect([loaded.length, world.facts.length, world.learned.length]).toEqual([1, 1, 1])
    })

    test('the newest are kept for when the models return, the others are deleted; existing models keep theirs', async () => {
      await knownModels()
      await prune()
      for (const table of TABLES) {
        expect(await countOf(table, `model_name = 'm'`), table).toBe(1)
        expect(await countOf(table, `model_name <> 'm'`), table).toBe(KEPT_OF_OTHERS)
        expect(await countOf(table, `model_name = 'gone${OTHERS - 1}'`), table).toBe(1)
        expect(await countOf(table, `model_name = 'gone0'`), table).toBe(0)
      }
      await prune()
      expect(await countOf('model_facts', `model_name <> 'm'`)).toBe(KEPT_OF_OTHERS)
    })
  })
}
