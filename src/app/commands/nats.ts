import { newNatsOperator, newSigningKey } from '../../bus/nats-operator.ts'
import { formatAddress, hostAndPort } from '../../platform/address.ts'
import type { Config } from '../../cli/config/options.ts'
import { systemClock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import { shellWord } from '../../cli/terminal/format.ts'
import type { Invocation } from '../../cli/parse-arguments.ts'
import { plain } from '../../cli/terminal/text-width.ts'
import { processTerminal } from '../../cli/terminal/terminal.ts'
import { createFolder, natsFolder, readKept, writeFolder, type NatsFolder } from '../bus/nats-folder.ts'

const DEFAULT_LISTEN = '0.0.0.0:4222'

/** `flotilla nats`: works on files only, without a cluster or a server. */
export function runNats(
  invocation: Invocation,
  { json }: Pick<Config, 'json'>,
  terminal = processTerminal(),
  clock = systemClock,
): number {
  const folder = natsFolder(invocation.values.at(invocation.subcommand!.name === 'revoke' ? 1 : 0))
  const text = acts[invocation.subcommand!.name]!(folder, invocation, clock.nowMs())
  terminal.print(json ? JSON.stringify(viewOf(folder), null, 2) : text)
  return 0
}

type Act = (folder: NatsFolder, given: Pick<Invocation, 'values' | 'own'>, nowMs: number) => string

function viewOf(folder: NatsFolder): object {
  const { account, signingKeys, revocations, listen } = readKept(folder)
  const files = { folder: folder.path, config: folder.config, seed_file: folder.seedFile }
  return { ...files, account, listen, signing_keys: signingKeys, revocations }
}

const acts: Record<string, Act> = {
  show(folder) {
    const { account, signingKeys, revocations, listen } = readKept(folder)
    const revoked = Object.entries(revocations).map(
      ([key, atS]) => `  ${key} until ${new Date(atS * 1000).toISOString()}`,
    )
    return [
      `The operator in ${folder.path}`,
      '',
      `  account       ${account}`,
      `  listens at    ${listen}`,
      `  signing keys  ${signingKeys.length}`,
      `  revoked       ${revoked.length}`,
      ...revoked,
    ].join('\n')
  },

  setup(folder, { own }, nowMs) {
    const listen = parseListen(own.get('listen') ?? DEFAULT_LISTEN)
    createFolder(folder)
    const { operator, signingSeed } = newNatsOperator(nowMs)
    writeFolder(folder, { ...operator, listen }, nowMs, signingSeed)
    const server = listen.replace(/^(0\.0\.0\.0|\[::\])(?=:)/, '<this machine>')
    return [
      `Written to ${folder.path}:`,
      '',
      '  nats-server.conf  for the server',
      '  account.seed      for every frontend: it signs the users of nodes and gateways',
      '  operator.json     keep it safe: its keys can admit any client',
      '',
      'Start the server, and each frontend with a copy of account.seed:',
      '',
      `  nats-server -c ${shellWord(folder.config)}`,
      `  flotilla frontend --nats-url nats://${server} \\`,
      `    --nats-account-seed-file ${shellWord(folder.seedFile)}`,
    ].join('\n')
  },

  rotate(folder, { own }, nowMs) {
    const operator = readKept(folder)
    if (own.has('retire')) {
      const retired = operator.signingKeys.length - 1
      if (retired === 0) return 'There is one signing key only: nothing to retire. flotilla nats rotate makes another.'
      writeFolder(folder, { ...operator, signingKeys: operator.signingKeys.slice(-1) }, nowMs)
      return `${retired === 1 ? 'The old signing key is' : `${retired} old signing keys are`} no longer taken.\n${reload(folder)}`
    }
    const { seed, publicKey } = newSigningKey()
    writeFolder(folder, { ...operator, signingKeys: [...operator.signingKeys, publicKey] }, nowMs, seed)
    return [
      `${folder.seedFile} holds another signing key. The old one still counts.`,
      reload(folder),
      'Then start each frontend again with the new file; an hour later no user has the old signature, and',
      'flotilla nats rotate --retire ends it.',
    ].join('\n')
  },

  revoke(folder, { values }, nowMs) {
    const publicKey = values[0]!
    if (!/^U[A-Z2-7]{55}$/.test(publicKey)) {
      const text = `"${plain(publicKey)}" is not the public key of a user (U…). flotilla nodes show prints the key of a node.`
      throw new AppError('usage', `flotilla nats revoke: ${text}`)
    }
    const operator = readKept(folder)
    const revocations = { ...operator.revocations, [publicKey]: Math.floor(nowMs / 1000) }
    writeFolder(folder, { ...operator, revocations }, nowMs)
    return `What was signed for that key so far is no longer taken.\n${reload(folder)}`
  },
}

function reload({ config }: NatsFolder): string {
  return `Make the server read it: nats-server --signal reload (it was started with ${config}).`
}

function parseListen(text: string): string {
  const address = hostAndPort(text)
  if (!address) throw new AppError('usage', `flotilla nats setup: --listen: expected host:port, got "${plain(text)}".`)
  return formatAddress(address)
}
