import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { KeyCreated, TokenView } from '../../../src/api/admin/schemas.ts'
import { formatAddress } from '../../../src/platform/address.ts'
import { sendJson, startHttpServer, type Handler } from '../../../src/http/server.ts'
import { silentLogger } from '../../../src/platform/run/log.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { listReplicas } from '../../../src/store/nouns/replicas.ts'
import { anApplicant, ControlScene, type Applicant } from './control-scene.ts'
import { tempFolder } from '../temp-folder.ts'

/**
 * One approved node with a replica and a data port, one that is pending, a model and a rule, a token besides the
 * default one and an API key.
 */
export interface Stage {
  scene: ControlScene
  /** What the data port of the first node does. */
  dataPort: { handler: Handler }
  /** Where the frontend keeps models. */
  models: string
  thor: Applicant
  loki: Applicant
  tokenId: string
  keyId: string
  /** Of the replica. */
  replicaId: string
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
  let stage: SetStage
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

async function strike({ scene, endDataPort }: SetStage): Promise<void> {
  await scene.end()
  await endDataPort()
  await scene.db.close()
}

interface SetStage extends Stage {
  endDataPort: () => Promise<void>
}

async function setStage(folder: string): Promise<SetStage> {
  const db = await openDatabase({ file: join(folder, 'flotilla.db') })
  const models = join(folder, 'models')
  const scene = await ControlScene.start(db, { modelsFolder: models })
  const [thor, loki] = [anApplicant('thor'), anApplicant('loki')]
  const dataPort: Stage['dataPort'] = { handler: (_request, response) => sendJson(response, 200, []) }
  const server = await startHttpServer({
    listen: { host: '127.0.0.1', port: 0 },
    purpose: 'a test',
    flag: '--none',
    handler: (request, response) => dataPort.handler(request, response),
    log: silentLogger,
  })
  const address = formatAddress(server.address)
  for (const node of [thor, loki]) {
    await scene.register(node, { labels: { rack: '7' }, max_replicas_per_model: 2, address })
  }
  await scene.admin('POST', `/api/nodes/${thor.nodeId}/approve`)
  await scene.wants(1)
  await scene.heartbeat(thor)
  await scene.turn()
  await scene.admin('PUT', `/api/nodes/${thor.nodeId}/labels`, { tier: 'gold' })
  const { body } = await scene.admin<TokenView>('POST', '/api/tokens', { name: 'extra' })
  const key = await scene.admin<KeyCreated>('POST', '/api/keys', { name: 'app' })
  const [replica] = await listReplicas(db)
  const ids = { tokenId: body.id, keyId: key.body.id, replicaId: replica!.id }
  return { scene, dataPort, models, thor, loki, ...ids, endDataPort: () => server.dispose(0) }
}
