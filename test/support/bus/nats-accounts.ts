import { natsConfigOf, newNatsOperator } from '../../../src/bus/nats-operator.ts'
import { readAccount, type Signer } from '../../../src/bus/user-jwt.ts'

/** What a NATS server in operator mode needs to know, and what signs its users. */
export interface NatsAccounts {
  /** Lines for the server's configuration. */
  config: string[]
  /** What an operator would put into the file of `--nats-account-seed-file`. */
  seed: string
  signer: Signer
}

export function natsAccounts(): NatsAccounts {
  const { operator, signingSeed } = newNatsOperator(Date.now())
  const seed = `${signingSeed}\n${operator.account}`
  return { config: natsConfigOf(operator, Date.now()), seed, signer: readAccount(seed, 'a test') }
}
