import { nearNames } from '../../core/lib/near-names.ts'
import { AppError } from '../../platform/errors.ts'
import { commands } from '../commands.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { SHELLS } from './command.ts'
import { completionScript } from './scripts.ts'

export function completion(wanted: string, terminal: Pick<Terminal, 'write'>): number {
  const shell = SHELLS.find((name) => name === wanted)
  if (!shell) {
    const [near = 'bash'] = nearNames(wanted, SHELLS)
    const text = `There is no completion for "${wanted}", only for ${SHELLS.join(', ')}. Try flotilla completion ${near}.`
    throw new AppError('usage', text)
  }
  terminal.write(completionScript(shell, commands))
  return 0
}
