import type { AdminBody } from '../../api/admin/routes.ts'
import { AppError } from '../../platform/errors.ts'
import type { Given } from '../client.ts'

export type InstallInput = AdminBody<'installBackend'>

/** What to install: an archive with its hash, a command, or else what the profile of the engine says. */
export function installInput(
  command: string,
  engine: string,
  { own, rest }: Pick<Given, 'own' | 'rest'>,
): InstallInput {
  const mistake = (what: string): AppError => new AppError('usage', `flotilla ${command}: ${what}.`)
  const [url, sha256] = [own.get('archive'), own.get('sha256')?.toLowerCase()]
  if (rest?.length === 0) throw mistake('a command was expected after --')
  if (rest && url !== undefined) throw mistake('give --archive or a command after --, not both')
  if (url === undefined && sha256 !== undefined) throw mistake('--sha256 is of an archive: give --archive too')
  if (rest) return { engine, command: rest }
  if (url === undefined) return { engine }
  if (sha256 === undefined) throw mistake(`--archive needs --sha256, so that nodes run what you mean. ${HOW_TO_GET_IT}`)
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw mistake(`--sha256: expected 64 hexadecimal digits. ${HOW_TO_GET_IT}`)
  return { engine, archive: { url, sha256 } }
}

const HOW_TO_GET_IT = 'sha256sum <file> prints it; projects often publish it beside their downloads'
