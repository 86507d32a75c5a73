import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { startKillablePostgres, type KillablePostgres } from '../../support/postgres/killable-postgres.ts'
import { natsAccounts } from '../../support/bus/nats-accounts.ts'
import { startNatsServer, type NatsServer } from '../../support/bus/nats-server.ts'

/** What the cluster stands on: PostgreSQL and a NATS server with accounts, which can be away for a while. */
export class Ground {
  readonly postgres: KillablePostgres
  readonly natsUrl: string
  readonly accountSeedFile: string
  readonly #accounts: ReturnType<typeof natsAccounts>
  #nats: NatsServer

  private constructor(
    store: KillablePostgres,
    nats: NatsServer,
    accounts: ReturnType<typeof natsAccounts>,
    seedFile: string,
  ) {
    this.postgres = store
    this.#nats = nats
    this.natsUrl = nats.url
    this.#accounts = accounts
    this.accountSeedFile = seedFile
  }

  static async start(folder: string): Promise<Ground> {
    const accounts = natsAccounts()
    const [store, nats] = await Promise.all([startKillablePostgres(), startNatsServer({ accounts })])
    const seedFile = join(folder, 'account.seed')
    writeFileSync(seedFile, `${accounts.seed}\n`, { mode: 0o600 })
    return new Ground(store, nats, accounts, seedFile)
  }

  stopNats(): Promise<void> {
    return this.#nats.stop()
  }

  /** The same again: the same port, and accounts that know the same users. */
  async startNats(): Promise<void> {
    this.#nats = await startNatsServer({ accounts: this.#accounts, port: this.#nats.port })
  }

  /** Rows of the store, read behind Flotilla's back. */
  async rows<T>(text: string): Promise<T[]> {
    const sql = postgres(this.postgres.url, { max: 1, fetch_types: false, connect_timeout: 5, onnotice: () => {} })
    try {
      return [...(await sql.unsafe(text))] as T[]
    } finally {
      await sql.end({ timeout: 1 })
    }
  }

  async dispose(): Promise<void> {
    await Promise.all([this.postgres.stop(), this.#nats.stop()])
  }
}
