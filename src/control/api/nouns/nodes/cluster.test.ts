import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AppError } from '../../../../platform/errors.ts'
import { silentLogger } from '../../../../platform/run/log.ts'
import { openDatabase } from '../../../../store/database.ts'
import type { Database } from '../../../../store/sql.ts'
import { saveModel } from '../../../../store/nouns/models.ts'
import { tempFolder } from '../../../../../test/support/temp-folder.ts'
import { VirtualClock } from '../../../../../test/support/virtual-clock.ts'
import { Conditions } from '../../../watch/conditions.ts'
import { clusterAnswers } from './cluster.ts'
import { toModel } from '../models/models.ts'

test('when the store cannot be read the answer is what was read last, with the reason as its first problem', async () => {
  const db = await openDatabase({ file: join(tempFolder(), 'flotilla.db') })
  await db.transaction((tx) => saveModel(tx, toModel({ name: 'parrot', engine: 'sim' })))
  let isAway = false
  const sometimes: Database = {
    kind: db.kind,
    query: (text, params) =>
      isAway
        ? Promise.reject(new AppError('unavailable', 'Cannot reach PostgreSQL at db:5432.'))
        : db.query(text, params),
    transaction: (work) => db.transaction(work),
    close: () => db.close(),
  }
  const conditions = new Conditions(silentLogger)
  const { showCluster } = clusterAnswers({
    db: sometimes,
    conditions,
    placement: 'spread',
    clock: new VirtualClock(Date.UTC(2026, 0, 1)),
    log: silentLogger,
  })
  const show = () => showCluster(undefined, undefined as never, undefined as never)
  expect(await show()).toMatchObject({ models: [{ name: 'parrot' }], problems: [] })
  isAway = true
  conditions.begin('turns', { kind: 'store', severity: 'error', text: 'turns fail' })
  expect(await show()).toMatchObject({
    models: [{ name: 'parrot' }],
    problems: [
      {
        kind: 'store',
        severity: 'error',
        text: 'The store cannot be read: Cannot reach PostgreSQL at db:5432. Nodes and models are shown as of 2026-01-01T00:00:00.000Z.',
      },
      { text: 'turns fail' },
    ],
  })
  await db.close()
})
