import { isatty } from 'node:tty'
import { pino, type Logger } from 'pino'
import type { LossyOutput } from './lossy-output.ts'
import { stderrOutput } from './outputs.ts'
import { wantsColour } from '../terminal-looks.ts'

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

/**
 * Structured logs to stderr: stdout belongs to what a command prints for its user. Nothing waits for the log and nothing
 * fails because of it: what stderr does not take is dropped and counted ([0060](../../docs/decisions/0060-lossy-log.md)).
 */
export async function createLogger({ level, format }: LogOptions): Promise<Logger> {
  const options = {
    level,
    base: null,
    serializers: { err: cleanError },
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[secret]' },
  }
  const output = stderrOutput()
  const isTerminal = isatty(2)
  const isPretty = format === 'pretty' || (format === 'auto' && isTerminal)
  const log = pino(options, isPretty ? await prettyInto(output, isTerminal) : output)
  output.onLost = (lost) => log.warn({ lost }, lostText(lost))
  return log
}

function lostText(lost: number): string {
  const lines = lost === 1 ? '1 line of the log was lost' : `${lost} lines of the log were lost`
  return `${lines}: stderr did not take them in time`
}

async function prettyInto(output: LossyOutput, isTerminal: boolean): Promise<{ write: (line: string) => void }> {
  // Loaded only when wanted: it costs 3 MB and 20 ms.
  const { prettyFactory } = await import('pino-pretty')
  const pretty = prettyFactory({
    colorize: wantsColour({ isTTY: isTerminal }),
    translateTime: 'SYS:HH:MM:ss',
    // One event, one line; an error still shows its stack below. Other fields are written as JSON, these as text, so
    // control characters are escaped here: a name with a line end could forge log lines.
    singleLine: true,
    messageFormat: (line, key) => clean(textOf(line[key])),
    customPrettifiers: { name: (name) => clean(textOf(name)) },
  })
  return { write: (line) => output.write(pretty(line)) }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

/** Control characters as JSON writes them. */
function clean(text: string): string {
  return text.replace(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1))
}

/** A thrown error may quote input. The lines of a stack are ours. */
function cleanError(error: Error): unknown {
  const plain: unknown = pino.stdSerializers.err(error)
  if (typeof plain !== 'object' || plain === null || !('stack' in plain)) return plain
  const { message } = plain as { message?: string }
  const lines = String(plain.stack).replace(message ?? '', () => clean(message ?? ''))
  return { ...plain, stack: lines.split('\n').map(clean).join('\n') }
}

/** For tests and tools that must be quiet. */
export const silentLogger: Logger = pino({ level: 'silent' })
