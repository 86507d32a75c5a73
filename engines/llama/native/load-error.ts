import { closeSync, openSync, readSync, statSync } from 'node:fs'

/** Why a model cannot be served, in one line for the log. */
export class LoadError extends Error {}

const MAGIC = 'GGUF'

/** Throws for obvious problems of a model's file, before a library reports them in other words. */
export function checkFile(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (!found) throw new LoadError(`the model file ${file} does not exist`)
  if (!found.isFile()) throw new LoadError(`${file} is not a file; name the GGUF file itself`)
  const start = firstBytes(file)
  if (start.toString('latin1') === MAGIC) return
  const why = found.size === 0 ? 'it is empty' : `it does not begin with "${MAGIC}"`
  throw new LoadError(`${file} is not a GGUF file: ${why}`)
}

/** llama.cpp's last lines give the reason; the library's own error often has none. */
export function loadError(error: unknown, file: string, lines: readonly string[]): LoadError {
  if (error instanceof LoadError) return error
  const name = error instanceof Error ? error.constructor.name : ''
  const message = oneLine(error instanceof Error ? error.message : String(error))
  if (name === 'NoBinaryFoundError') {
    const machine = `${process.platform}-${process.arch}`
    return new LoadError(`no build of llama.cpp that is installed runs on this machine (${machine}): ${message}`)
  }
  if (name === 'InsufficientMemoryError') {
    return new LoadError(`out of memory: ${file} with its context does not fit: ${message}`)
  }
  const reason = reasonIn(lines) ?? message
  // Implausible lengths in a header, or a header that ends too early.
  const isDamaged = error instanceof RangeError || /failed to load model from/.test(reason)
  return new LoadError(`cannot load ${file}: ${isDamaged ? 'its header is cut off or damaged: ' : ''}${reason}`)
}

/** The first error is the reason, those that follow are its consequences. */
function reasonIn(lines: readonly string[]): string | undefined {
  for (const line of lines) {
    const [, reason] = /error loading model: (.+)/.exec(line) ?? []
    if (reason !== undefined) return oneLine(reason)
  }
  const said = lines.find((line) => /\b(error|failed|unable)\b/i.test(line))
  return said === undefined ? undefined : oneLine(said)
}

function firstBytes(file: string): Buffer {
  const bytes = Buffer.alloc(MAGIC.length)
  const fd = openSync(file, 'r')
  try {
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0))
  } finally {
    closeSync(fd)
  }
}

const LONGEST = 400

function oneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ').slice(0, LONGEST)
}
