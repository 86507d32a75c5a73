import type { Config } from '../config/options.ts'
import { documentInput } from '../../api/admin/document.ts'
import { AppError } from '../../platform/errors.ts'
import type { Client } from '../client.ts'
import { counted } from '../terminal/format.ts'
import { applyDocument } from '../plan/acts.ts'
import type { Invocation } from '../parse-arguments.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plain } from '../terminal/text-width.ts'
import type { Imported, Importer } from './imported.ts'
import { importLlamaSwap } from './llama-swap.ts'
import { importLocalAi } from './localai.ts'
import { importOllama } from './ollama.ts'

const importers: Readonly<Record<string, Importer>> = {
  localai: importLocalAi,
  'llama-swap': importLlamaSwap,
  ollama: importOllama,
}

export interface ImportDeps {
  config: Pick<Config, 'json'>
  terminal: Terminal
  env: Readonly<Record<string, string | undefined>>
  /** The cluster that it is applied to; asked for only then. */
  openClient: () => Client
}

/** Reads what is elsewhere; prints it as a document, or applies that. */
export async function runImport({ subcommand, values, own }: Invocation, deps: ImportDeps): Promise<number> {
  const { terminal, config } = deps
  const from = subcommand!.name
  if (own.has('yes') && !own.has('apply'))
    throw new AppError('usage', `flotilla import ${from}: --yes goes with --apply.`)
  const imported = await importers[from]!({ values, own, env: deps.env, terminal })
  const { document, notes } = imported
  for (const note of notes) terminal.note(plain(note))
  if (own.has('apply')) return applyDocument(deps.openClient(), own, checked(imported), `import ${from}`)
  const count = document.models.length + document.rules.length + document.nodes.length
  if (config.json) terminal.print(JSON.stringify(imported, null, 2))
  else if (count > 0) terminal.print((await asYaml(imported)).trimEnd())
  terminal.note(
    count === 0
      ? 'There is nothing to take over.'
      : `${counted(document.models.length, 'model')}, ${counted(document.rules.length, 'rule')} and ${counted(document.nodes.length, 'node')}; nothing was changed. --apply takes them over, or put this into a file for flotilla apply -f.`,
  )
  return 0
}

async function asYaml({ document }: Imported): Promise<string> {
  const { stringify } = await import('yaml')
  const filled = Object.fromEntries(Object.entries(document).filter(([, list]) => (list as unknown[]).length > 0))
  return stringify(filled, { lineWidth: 0 })
}

function checked({ document }: Imported) {
  const { data, error } = documentInput.safeParse(document)
  if (data) return { document: data, prune: false }
  const told = error.issues.slice(0, 10).map(({ path, message }) => `${path.join('.')}: ${message}`)
  throw new AppError('usage', `What was found cannot be taken over as it is:\n${plain(told.join('\n'))}`)
}
