import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { openDatabase, type DatabaseDeps } from '../database.ts'
import type { Database } from '../sql.ts'

/** An empty store: a file that does not exist yet, or a new database on a server. */
export interface EmptyStore {
  target: { file: string } | { url: string }
  drop(): Promise<void>
}

export type CreateStore = () => Promise<EmptyStore>

/** A store that the contract is tried on, with its schema or that of the given migrations. */
export interface ContractStore {
  open(deps?: DatabaseDeps): Promise<Database>
  drop(): Promise<void>
}

/** Opened as the program opens it. */
export function opened(create: CreateStore): () => Promise<ContractStore> {
  return async () => {
    const store = await create()
    return { open: (deps) => openDatabase(store.target, deps), drop: () => store.drop() }
  }
}

/** What each test of the contract works with; everything it makes is gone after it. */
export interface Workbench {
  /** Opens the test's store; several handles may be open at once. */
  open(deps?: DatabaseDeps): Promise<Database>
  /** Makes a folder of migrations out of file names and texts. */
  migrations(files: Record<string, string>): string
}

export function setUpWorkbench(create: () => Promise<ContractStore>): Workbench {
  let store: ContractStore
  let folder: string
  let folders = 0
  const handles: Database[] = []

  beforeEach(async () => {
    store = await create()
    folder = mkdtempSync(join(tmpdir(), 'flotilla-contract-'))
  })
  afterEach(async () => {
    await Promise.allSettled(handles.splice(0).map((db) => db.close()))
    await store.drop()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    async open(deps) {
      const db = await store.open(deps)
      handles.push(db)
      return db
    },
    migrations(files) {
      const path = join(folder, String((folders += 1)))
      mkdirSync(path)
      for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text)
      return path
    },
  }
}

/** The failure of a call that must fail. */
export async function failureOf(call: Promise<unknown>): Promise<Error> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (outcome instanceof Error) return outcome
  throw new Error('the call did not fail')
}
