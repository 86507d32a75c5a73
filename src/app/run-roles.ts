import type { Config } from '../cli/config/options.ts'
import { systemClock as clock } from '../platform/run/clock.ts'
import { noteCrash } from '../platform/run/crash.ts'
import { messageOf } from '../platform/errors.ts'
import { startFailure } from '../platform/full-disk.ts'
import { Lifetime } from '../platform/run/lifetime.ts'
import { createLogger, type Logger } from '../platform/run/log.ts'
import { lowFileLimit } from '../platform/open-file-limit.ts'
import { flushOutputs, stderrOutput, stdoutOutput } from '../platform/run/outputs.ts'
import { untilSignal } from '../platform/run/signals.ts'

/** How long all parts may take to stop once running requests had their time to finish. */
const STOP_WITHIN_MS = 60_000
/**
 * After this the process exits, even if something, such as a call to an unresponsive frontend, still keeps it alive.
 */
const LINGER_MS = 500
/** For the last lines of the log, and less than LINGER_MS: a reader that stands still does not change the exit code. */
const LAST_LINES_MS = 300

export interface Running {
  /** For a person: printed once all parts serve. */
  banner?: string
  /** Ends the process, with this exit code and message. */
  over?: Promise<Ending>
}

export interface Ending {
  code: number
  /** Undefined when it needs no explanation. */
  message?: string
}

/** Starts the parts of a command and runs them until a signal or their own end; then stops them, newest first. */
export async function runRoles(
  config: Config,
  start: (log: Logger, life: Lifetime) => Promise<Running>,
): Promise<number> {
  const log = await createLogger({ level: config.log_level, format: config.log_format })
  const fewFiles = lowFileLimit()
  if (fewFiles) log.warn({ advice: fewFiles.advice }, fewFiles.text)
  const life = new Lifetime(clock, (step, problem) => log.warn({ step, error: messageOf(problem) }, 'stopping'))
  const signal = untilSignal()
  // The state is in the store, and engines are left for the next run to adopt: stopping is safe, continuing is not.
  process.on('uncaughtException', (error) => {
    noteCrash()
    try {
      log.fatal({ err: error }, 'stopping: something failed inside Flotilla')
    } finally {
      // Writes what stderr takes at once, and does not wait for more.
      process.exit(1)
    }
  })
  let ending: Ending | undefined
  try {
    const running = await Promise.race([start(log, life), signal])
    if (typeof running === 'object') {
      if (running.banner) stdoutOutput().write(running.banner)
      const end = await Promise.race([signal, ...(running.over ? [running.over] : [])])
      if (typeof end === 'object') ending = end
      else log.info('stopping')
    }
  } catch (error) {
    throw startFailure(error, config.data)
  } finally {
    await life.end(STOP_WITHIN_MS + config.drain_s * 1000)
    setTimeout(() => process.exit(), LINGER_MS).unref()
  }
  if (ending?.message !== undefined) stderrOutput().write(`flotilla: ${ending.message}\n`)
  await flushOutputs(LAST_LINES_MS)
  return ending?.code ?? 0
}
