import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { TokenView } from '../api/admin/schemas.ts'
import { openDatabase } from '../store/database.ts'
import { anApplicant, ControlScene, type Applicant } from './control-scene.ts'
import { tempFolder } from './temp-folder.ts'

/** One approved node with a replica, one that is pending, a model and a rule, and a token besides the default one. */
export interface Stage {
  scene: ControlScene
  thor: Applicant
  loki: Applicant
  tokenId: string
}

/** For a test that changes something. */
export async function aStage(): Promise<Stage> {
  const stage = await setStage(tempFolder())
  onTestFinished(() => strike(stage))
  return stage
}

/** For tests that change nothing. */
export function sharedStage(): () => Stage {
  let folder: string
  let stage: Stage
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'flotilla-api-'))
    stage = await setStage(folder)
  })
  afterAll(async () => {
    await strike(stage)
    rmSync(folder, { recursive: true, force: true })
  })
  return () => stage
}

async function strike({ scene }: Stage): Promise<void> {
  await scene.end()
  await scene.db.close()
}

async function setStage(folder: string): Promise<Stage> {
  const db = await openDatabase({ file: join(folder, 'flotilla.db') })
  const scene = await ControlScene.start(db)
  const [thor, loki] = [anApplicant('thor'), anApplicant('loki')]
  for (const node of [thor, loki]) await scene.register(node, { labels: { rack: '7' }, max_replicas_per_model: 2 })
  await scene.admin('POST', `/api/nodes/${thor.nodeId}/approve`)
  await scene.wants(1)
  await scene.heartbeat(thor)
  await scene.turn()
  await scene.admin('PUT', `/api/nodes/${thor.nodeId}/labels`, { tier: 'gold' })
  const { body } = await scene.admin<TokenView>('POST', '/api/tokens', { name: 'extra' })
  return { scene, thor, loki, tokenId: body.id }
}
