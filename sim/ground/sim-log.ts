import { silentLogger, type Logger } from '../../src/platform/run/log.ts'
import type { Trace } from '../report/trace.ts'

/** What a process logs goes into the trace: it is made to be read by people. */
export function simLog(trace: Trace, who: string): Logger {
  const say = (level: string) => (first: unknown, text?: unknown) => {
    if (typeof first === 'string') return trace.add(who, `${level}${first}`)
    trace.add(who, `${level}${String(text)} ${JSON.stringify(first, plainly)}`)
  }
  return Object.assign(Object.create(silentLogger) as Logger, {
    trace: () => {},
    debug: () => {},
    info: say(''),
    warn: say('warning: '),
    error: say('error: '),
    fatal: say('fatal: '),
  })
}

function plainly(_key: string, value: unknown): unknown {
  return value instanceof Error ? value.message : value
}
