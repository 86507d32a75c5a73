import { fileURLToPath } from 'node:url'
import type { ModelOptions } from '../core/types.ts'

/**
 * An engine as data: how to start the program and how to see that it serves. `{{port}}` and `{{model}}` are filled in
 * for each replica.
 */
export interface EngineProfile {
  name: string
  command: readonly string[]
  /** Answers 200 once the replica can serve. */
  readyPath: string
  /** How a model's options reach the program: each as `--name value`. */
  options: 'flags'
}

/** `.ts` from the source tree, `.js` from a build: the engine is what this file is. */
const simProgram = fileURLToPath(
  new URL(`../engines/sim/main${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
)

const profiles: readonly EngineProfile[] = [
  {
    name: 'sim',
    command: [process.execPath, '--max-semi-space-size=1', simProgram, '--port', '{{port}}', '--model', '{{model}}'],
    readyPath: '/health',
    options: 'flags',
  },
]

export function findEngine(name: string): EngineProfile | undefined {
  return profiles.find((profile) => profile.name === name)
}

export function engineNames(): string[] {
  return profiles.map((profile) => profile.name)
}

/** The whole command line of one replica. */
export function commandFor(profile: EngineProfile, modelName: string, port: number, options: ModelOptions): string[] {
  const values: Record<string, string> = { port: String(port), model: modelName }
  const command = profile.command.map((part) =>
    part.replaceAll(/\{\{(\w+)\}\}/g, (whole, name) => values[name] ?? whole),
  )
  for (const [name, value] of Object.entries(options)) command.push(`--${name.replaceAll('_', '-')}=${value}`)
  return command
}
