import { join } from 'node:path'
import type { Config } from '../config/options.ts'
import { AppError } from '../../platform/errors.ts'
import { readText } from '../cluster.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Prints the default join token of the frontend with this data folder. The API has only its hash. */
export function showToken({ data, json }: Pick<Config, 'data' | 'json'>, terminal: Terminal): number {
  const path = join(data, 'join.token')
  const token = readText(path)
  if (!token) {
    const hint = 'Run this on the machine of the frontend, or make a token with flotilla token create'
    throw new AppError('usage', `There is no join token in ${path}. ${hint}.`)
  }
  terminal.print(json ? JSON.stringify({ token }) : token)
  return 0
}
