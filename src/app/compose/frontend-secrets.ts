import { randomUUID } from 'node:crypto'
import type { DataFolder } from '../../platform/data-folder.ts'
import { newSecret, readOrCreateSecret } from '../../platform/secrets.ts'
import { writeWhole } from '../../platform/write-whole.ts'

/** The secrets in the data folder of a frontend, which makes those that are missing. */
export class FrontendSecrets {
  readonly #folder: DataFolder
  readonly clusterSecret: string
  /** Who it is in the election. */
  readonly owner: string
  #adminKey: string
  #joinToken: string

  constructor(folder: DataFolder) {
    this.#folder = folder
    this.#adminKey = readOrCreateSecret(folder.file('admin.key'), () => newSecret('fla'))
    this.#joinToken = readOrCreateSecret(folder.file('join.token'), () => newSecret('flj'))
    this.clusterSecret = readOrCreateSecret(folder.file('cluster.secret'), () => newSecret('flc'))
    this.owner = readOrCreateSecret(folder.file('frontend.id'), randomUUID)
  }

  get adminKey(): string {
    return this.#adminKey
  }

  get joinToken(): string {
    return this.#joinToken
  }

  replaceAdminKey(key: string): void {
    writeWhole(this.#folder.file('admin.key'), `${key}\n`)
    this.#adminKey = key
  }

  replaceJoinToken(token: string): void {
    writeWhole(this.#folder.file('join.token'), `${token}\n`)
    this.#joinToken = token
  }
}
