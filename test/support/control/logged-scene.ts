import { Writable } from 'node:stream'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import type { Logger } from '../../../src/platform/run/log.ts'
import { openDatabase } from '../../../src/store/database.ts'
import type { Database } from '../../../src/store/sql.ts'
import { ControlScene } from './control-scene.ts'
import { tempFolder } from '../temp-folder.ts'

export interface LoggedScene {
  scene: ControlScene
  db: Database
  log: Logger
  lines: string[]
}

/** Control on a store of its own, with every line that it logs, whatever its level. */
export async function aLoggedScene(): Promise<LoggedScene> {
  const lines: string[] = []
  const log = pino({ level: 'trace' }, new Writable({ write: (line, _, done) => (lines.push(String(line)), done()) }))
  const db = await openDatabase({ file: `${tempFolder()}/flotilla.db` })
  const scene = await ControlScene.start(db, { log })
  onTestFinished(async () => {
    await scene.end()
    await db.close()
  })
  return { scene, db, lines, log }
}
