import type { IncomingHttpHeaders } from 'node:http'
import { isIn, URL_CHARACTER } from './characters.ts'
import { readFields } from './read-fields.ts'

/** The head of a request that is plain enough to be served here. */
export interface WireHead {
  method: 'GET' | 'POST'
  url: string
  headers: IncomingHttpHeaders
  rawHeaders: string[]
  /** The body's; undefined when it comes in chunks. */
  length: number | undefined
  /** The client asked to close the connection after the answer. */
  isLast: boolean
  /** Where the head has ended. */
  end: number
}

/** `more`: the head is incomplete. `unsure`: it is for node:http, which also refuses malformed heads. */
export type HeadRead = WireHead | 'more' | 'unsure'

/**
 * Reads the head of a request from the beginning of `bytes`, if it is a plain one under `prefix`. It accepts only what
 * every HTTP/1.1 parser reads in the same way: GET and POST with a path, names and values of visible characters, lines
 * that end with CR LF, no name twice, one length or chunks. Upgrades, expectations and ambiguous heads are left to
 * node:http.
 */
export function readHead(bytes: Buffer, prefix: string, mostBytes: number): HeadRead {
  const method = methodOf(bytes, prefix)
  if (method === undefined) return 'unsure'
  const found = bytes.indexOf(HEAD_END)
  if (found === -1) return bytes.length < mostBytes && !hasBareLf(bytes) ? 'more' : 'unsure'
  const end = found + HEAD_END.length
  if (end > mostBytes) return 'unsure'
  const text = bytes.toString('latin1', 0, end)
  const urlStart = method.length + 1
  let urlEnd = urlStart
  while (isIn(URL_CHARACTER, bytes[urlEnd]!)) urlEnd += 1
  if (!text.startsWith(VERSION, urlEnd)) return 'unsure'
  const fields = readFields(bytes, text, urlEnd + VERSION.length, found + 2)
  if (!fields || fields.hasTwice) return 'unsure'
  const headers = fields.headers as IncomingHttpHeaders
  const framing = framingOf(method, headers)
  if (!framing) return 'unsure'
  const { length, isLast } = framing
  return { method, url: urlAt(bytes, urlStart, urlEnd), headers, rawHeaders: fields.rawHeaders, length, isLast, end }
}

/**
 * A head with bare LFs may never contain the end that we wait for, so it is refused at once. Only the first and the last LF
 * are checked: checking all of them at each read would let a client that sends byte by byte use a thousand times its share.
 */
function hasBareLf(bytes: Buffer): boolean {
  return isBareLf(bytes, bytes.indexOf(LF)) || isBareLf(bytes, bytes.lastIndexOf(LF))
}

function isBareLf(bytes: Buffer, at: number): boolean {
  return at !== -1 && bytes[at - 1] !== CR
}

const HEAD_END = Buffer.from('\r\n\r\n')
const [CR, LF] = [0x0d, 0x0a]
const VERSION = ' HTTP/1.1\r\n'

/** Clients use the same URL again and again. */
let lastUrl = Buffer.alloc(0)
let lastUrlText = ''

/** A string of its own, because a slice would keep the whole head in memory. */
function urlAt(bytes: Buffer, start: number, end: number): string {
  if (isSame(bytes, start, end, lastUrl)) return lastUrlText
  lastUrl = Buffer.from(bytes.subarray(start, end))
  lastUrlText = lastUrl.toString('latin1')
  return lastUrlText
}

function isSame(bytes: Uint8Array, start: number, end: number, other: Uint8Array): boolean {
  if (end - start !== other.length) return false
  for (let i = 0; i < other.length; i += 1) if (bytes[start + i] !== other[i]) return false
  return true
}

/** The method, if the bytes so far match it and the prefix; undefined as soon as one byte differs. */
function methodOf(bytes: Buffer, prefix: string): 'GET' | 'POST' | undefined {
  const method = bytes[0] === 0x50 ? 'POST' : 'GET'
  const start = `${method} ${prefix}`
  const length = Math.min(bytes.length, start.length)
  for (let i = 0; i < length; i += 1) if (bytes[i] !== start.charCodeAt(i)) return undefined
  return method
}

/** How the body ends and whether the connection is kept; undefined when that is not plain. */
function framingOf(method: string, headers: IncomingHttpHeaders): Pick<WireHead, 'length' | 'isLast'> | undefined {
  const { connection, upgrade, expect, 'content-length': length, 'transfer-encoding': coding } = headers
  if (upgrade !== undefined || expect !== undefined || headers['proxy-connection'] !== undefined) return undefined
  const wish = connection === 'keep-alive' ? connection : connection?.toLowerCase()
  if (wish !== undefined && wish !== 'keep-alive' && wish !== 'close') return undefined
  const isLast = wish === 'close'
  if (length === undefined && coding === undefined) return { length: 0, isLast }
  // A body where none belongs, or two ways to tell its end.
  if (method === 'GET' || (length !== undefined && coding !== undefined)) return undefined
  if (length !== undefined) return /^\d{1,15}$/.test(length) ? { length: Number(length), isLast } : undefined
  return coding === 'chunked' ? { length: undefined, isLast } : undefined
}
