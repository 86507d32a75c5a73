import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { natsConfigOf, type NatsOperator } from '../../bus/nats-operator.ts'
import { AppError } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'
import { writeWhole } from '../../platform/write-whole.ts'

/** The stored part of an operator; the listener is written into the configuration each time. */
const kept = z.object({
  operatorSeed: z.string().startsWith('SO'),
  madeAtS: z.int(),
  account: z.string(),
  signingKeys: z.array(z.string()).min(1).max(100),
  revocations: z.record(z.string(), z.int()),
  listen: z.string(),
})
export type KeptOperator = NatsOperator & { listen: string }

export interface NatsFolder {
  path: string
  config: string
  seedFile: string
}

export function natsFolder(named: string | undefined): NatsFolder {
  const path = resolve(named ?? 'nats')
  return { path, config: join(path, 'nats-server.conf'), seedFile: join(path, 'account.seed') }
}

/** Refuses to replace an existing operator: none of its users could connect any more. */
export function createFolder({ path }: NatsFolder): void {
  const file = keptFile(path)
  if (existsSync(file)) {
    const text = `There is an operator in ${path} already. flotilla nats rotate makes another signing key for it`
    throw new AppError('usage', `flotilla nats setup: ${text}; for another one name another folder.`)
  }
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new AppError('usage', `flotilla nats setup: cannot make ${path}: ${fileProblem(error)}.`, { cause: error })
  }
}

export function readKept({ path }: NatsFolder): KeptOperator {
  const file = keptFile(path)
  try {
    return kept.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    // Its content is secret, so the message repeats none of it.
    const text = missing
      ? `There is no ${file}. Name the folder that flotilla nats setup has written; it writes ./nats without one.`
      : `${file} cannot be read, or is not as flotilla nats setup wrote it.`
    throw new AppError('usage', text, { cause: error })
  }
}

/** The operator first: a configuration with a key that was not saved would lock everyone out. */
export function writeFolder(folder: NatsFolder, operator: KeptOperator, nowMs: number, seed?: string): void {
  writeWhole(keptFile(folder.path), `${JSON.stringify(operator, null, 2)}\n`)
  if (seed !== undefined) writeWhole(folder.seedFile, `${seed}\n${operator.account}\n`)
  const lines = [
    '# Written by flotilla nats; changes are lost when it writes again. It holds no secrets.',
    `# nats-server -c ${folder.config}`,
    `listen: "${operator.listen}"`,
    'server_name: flotilla',
    ...natsConfigOf(operator, nowMs),
  ]
  writeWhole(folder.config, `${lines.join('\n')}\n`)
}

function keptFile(path: string): string {
  return join(path, 'operator.json')
}
