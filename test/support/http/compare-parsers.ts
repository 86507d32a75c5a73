import { isDeepStrictEqual } from 'node:util'
import { readAnswerByNode, readAnswerByUs, type AnswerContext } from './read-answer.ts'
import { readByNode } from './read-by-node.ts'
import { readByWire } from './read-by-wire.ts'

/** How two parsers have read the same bytes. */
export interface Compared {
  /** How ours ended. */
  end: string
  /** What it took otherwise than the other, or took and the other did not. None when it has only refused or waited more. */
  difference: string | undefined
}

/**
 * Reads what a client sends with the wire, in these pieces, and with node:http's parser (llhttp) in one. Whatever the wire
 * takes for a request, the other must have taken for the very same; what it hands over must begin where the other saw the
 * next one begin; where it waits, the other must not have seen more. Only in refusing may it go further.
 */
export async function compareRequests(bytes: Buffer, pieces: readonly Buffer[] = [bytes]): Promise<Compared> {
  const wire = await readByWire(pieces)
  const node = await readByNode(bytes)
  const { end, rest } = wire
  const differs = (what: string): Compared => ({ end, difference: `${what}: ${JSON.stringify({ wire, node })}` })
  const later = node.requests.slice(wire.requests.length)
  if (!isDeepStrictEqual(node.requests.slice(0, wire.requests.length), wire.requests))
    return differs('a request that llhttp does not see')
  if (end === 'waits' && later.length > 0) return differs('it waits where llhttp sees a request')
  if (end === 'handed over') {
    if (!bytes.toString('latin1').endsWith(rest)) return differs('what is handed over is not what is left')
    const readLater = (await readByNode(Buffer.from(rest, 'latin1'))).requests
    if (!isDeepStrictEqual(readLater, later)) return differs('what is handed over begins elsewhere')
  }
  return { end, difference: undefined }
}

/** The same for what an upstream answers: nothing of it is told to a client that llhttp would not have told. */
export async function compareAnswers(
  bytes: Buffer,
  context: AnswerContext,
  pieces: readonly Buffer[] = [bytes],
): Promise<Compared> {
  const ours = readAnswerByUs(pieces, context)
  const node = await readAnswerByNode(bytes, context)
  const { end } = ours
  const differs = (what: string): Compared => ({ end, difference: `${what}: ${JSON.stringify({ ours, node })}` })
  if (ours.head && !isDeepStrictEqual(ours.head, node.head)) return differs('a head that llhttp does not see')
  if (!node.body.startsWith(ours.body)) return differs('a body that llhttp does not see')
  if (end === 'waits' && node.end === 'whole') return differs('it waits where llhttp sees the end')
  if (end === 'whole' && (node.end !== 'whole' || node.body !== ours.body)) return differs('it ends elsewhere')
  if (ours.mayKeepAlive && !node.mayKeepAlive) return differs('a connection is kept that llhttp would not keep')
  return { end, difference: undefined }
}
