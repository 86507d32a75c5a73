import { join } from 'node:path'
import { systemClock } from '../../../platform/run/clock.ts'
import type { EngineProcess } from '../engine-process.ts'
import { startEngine, type EngineCommand, type StartHooks } from '../start-engine.ts'
import { enginesFolder } from './left-over.ts'

export interface StartedEngine {
  engine: EngineProcess
  /** Of all engines; `expectNothingLeft` looks for what mentions it. */
  folder: string
  /** As `stream: text`. */
  lines: string[]
}

/** An engine that is a few lines of shell, started by this process. */
export async function startShell(
  script: string,
  { folder = enginesFolder(), name = 'one', ...rest }: Partial<EngineCommand & StartHooks> & { name?: string } = {},
): Promise<StartedEngine> {
  const lines: string[] = []
  const engine = await startEngine(
    {
      argv: ['sh', '-c', script],
      cwd: '/',
      folder: join(folder, name),
      ...rest,
      env: { PATH: process.env['PATH'], TEST_FOLDER: folder, ...rest.env },
    },
    { clock: systemClock, onLine: (stream, line) => lines.push(`${stream}: ${line}`), ...rest },
  )
  return { engine, folder, lines }
}

export const quickly = { signal: 'SIGTERM', killAfterMs: 200 } as const
export const patiently = { signal: 'SIGTERM', killAfterMs: 60_000 } as const
