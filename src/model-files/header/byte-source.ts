import { open } from 'node:fs/promises'
import type { AskDeps } from '../source/ask.ts'
import { ask } from '../source/ask.ts'
import type { HttpAnswer } from '../source/http-get.ts'
import { judgeAnswer } from '../source/judge-answer.ts'
import type { Wanted } from '../source/wanted.ts'
import { AppError } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'

/** A file, local or remote, of which a few parts are read. */
export interface ByteSource {
  /** Its name in messages; without secrets. */
  label: string
  /** Remote files: known after the first read. */
  size: number | undefined
  /** Returns fewer bytes than asked for only at the end of the file. */
  read(offset: number, length: number, signal: AbortSignal): Promise<Buffer>
}

export function localBytes(path: string, size: number, label: string): ByteSource {
  return {
    label,
    size,
    async read(offset, length, signal) {
      signal.throwIfAborted()
      // Opened for each read, so that an abandoned reader leaves nothing open.
      const file = await open(path, 'r').catch((error: unknown) => {
        throw new AppError('conflict', `Cannot read ${label}: ${fileProblem(error)}.`, { cause: error })
      })
      try {
        const buffer = Buffer.alloc(Math.max(0, Math.min(length, size - offset)))
        const { bytesRead } = await file.read(buffer, 0, buffer.length, offset)
        return buffer.subarray(0, bytesRead)
      } finally {
        await file.close()
      }
    },
  }
}

/** By range requests. From a server without ranges it reads from the beginning and stops after the wanted part. */
export function remoteBytes(wanted: Wanted, deps: AskDeps): ByteSource {
  const { label } = wanted
  const source: ByteSource = {
    label,
    size: wanted.size,
    read(offset, length, signal) {
      const range = `bytes=${offset}-${offset + length - 1}`
      const question = async (attempt: number) => ({
        ...(await wanted.locate(attempt, signal)),
        headers: { range },
      })
      return ask(label, deps, signal, question, async (answer) => {
        if (answer.status === 416) return Buffer.alloc(0)
        if (answer.status !== 200 && answer.status !== 206) judgeAnswer(answer, label, deps.clock.nowMs())
        source.size = sizeOf(answer) ?? source.size
        return take(answer, answer.status === 206 ? 0 : offset, length)
      })
    },
  }
  return source
}

function sizeOf({ status, headers }: HttpAnswer): number | undefined {
  const text = status === 206 ? /\/\s*(\d+)\s*$/.exec(headers['content-range'] ?? '')?.[1] : headers['content-length']
  const size = Number(text ?? Number.NaN)
  return Number.isSafeInteger(size) ? size : undefined
}

async function take({ body }: HttpAnswer, skip: number, length: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    // Skipped bytes are dropped as they arrive, whatever their number.
    while (chunks.length > 0 && skip >= chunks[0]!.length) {
      const gone = chunks.shift()!.length
      skip -= gone
      bytes -= gone
    }
    if (bytes >= skip + length) break
  }
  return Buffer.concat(chunks).subarray(skip, skip + length)
}
