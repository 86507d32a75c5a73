import { pino, type Logger } from 'pino'

export type { Logger }

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** Fields whose values never reach a log, however deep a caller nests them one level. */
const SECRET_FIELDS = ['authorization', 'token', 'secret', 'key', 'password', 'seed', 'cookie']

export interface LogOptions {
  level: LogLevel
  /** `pretty` for people, `json` for machines; `auto` is pretty on a terminal. */
  format: 'auto' | 'pretty' | 'json'
}

/** Structured logs to stderr: stdout belongs to what a command prints for its user. */
export async function createLogger({ level, format }: LogOptions): Promise<Logger> {
  const options = {
    level,
    base: null,
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[secret]' },
  }
  const pretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY)
  if (!pretty) return pino(options, pino.destination({ fd: 2, sync: true }))
  // Loaded only when wanted: it costs 3 MB and 20 ms.
  const { default: pinoPretty } = await import('pino-pretty')
  const stream = pinoPretty({
    destination: 2,
    sync: true,
    colorize: process.stderr.isTTY && !process.env['NO_COLOR'],
    translateTime: 'SYS:HH:MM:ss',
    // One event, one line; an error still shows its stack below.
    singleLine: true,
  })
  return pino(options, stream)
}

/** For tests and tools that must be quiet. */
export const silentLogger: Logger = pino({ level: 'silent' })
