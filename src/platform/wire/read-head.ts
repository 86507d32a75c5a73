import type { IncomingHttpHeaders } from 'node:http'

/** The head of a request that is plain enough to be served here. */
export interface WireHead {
  method: 'GET' | 'POST'
  url: string
  headers: IncomingHttpHeaders
  rawHeaders: string[]
  /** Of the body; undefined when it comes in chunks. */
  length: number | undefined
  /** The client wants no other answer on this connection. */
  isLast: boolean
  /** Where the head has ended. */
  end: number
}

/** `more`: it has not come whole. `unsure`: it is for a parser that knows everything, and refuses what is none. */
export type HeadRead = WireHead | 'more' | 'unsure'

/**
 * Reads the head of a request from the beginning of `bytes`, if it is a plain one under `prefix`. What is taken here must
 * mean the same to everybody who has ever read HTTP/1.1, so it is a small part of the grammar: GET and POST with a path,
 * names and values of visible characters, lines that end with CR LF, no name twice, one length or chunks. Whatever
 * switches, expects or could be read in two ways is left to others.
 */
export function readHead(bytes: Buffer, prefix: string, mostBytes: number): HeadRead {
  const method = methodOf(bytes, prefix)
  if (method === undefined) return 'unsure'
  const found = bytes.indexOf(HEAD_END)
  if (found === -1) return bytes.length < mostBytes ? 'more' : 'unsure'
  const end = found + HEAD_END.length
  if (end > mostBytes) return 'unsure'
  const urlStart = method.length + 1
  let urlEnd = urlStart
  while (isIn(URL_CHARACTER, bytes[urlEnd]!)) urlEnd += 1
  const first = urlEnd + VERSION.length
  if (bytes.toString('latin1', urlEnd, first) !== VERSION) return 'unsure'
  const fields = readFields(bytes, first, found + 2)
  const framing = fields && framingOf(method, fields.headers)
  if (!framing) return 'unsure'
  // A string of its own: a part of the head's would hold on to the whole.
  return { method, url: bytes.toString('latin1', urlStart, urlEnd), ...fields, ...framing, end }
}

const HEAD_END = Buffer.from('\r\n\r\n')
const VERSION = ' HTTP/1.1\r\n'
const [CR, LF, SPACE, TAB, COLON] = [0x0d, 0x0a, 0x20, 0x09, 0x3a]

/** As far as the bytes go, they must begin like this; whatever else is somebody else's, from its first byte on. */
function methodOf(bytes: Buffer, prefix: string): 'GET' | 'POST' | undefined {
  const method = bytes[0] === 0x50 ? 'POST' : 'GET'
  const start = `${method} ${prefix}`
  const length = Math.min(bytes.length, start.length)
  for (let i = 0; i < length; i += 1) if (bytes[i] !== start.charCodeAt(i)) return undefined
  return method
}

/** The lines from `start` to `end`; undefined when one of them is not plain. */
function readFields(bytes: Buffer, start: number, end: number): Pick<WireHead, 'headers' | 'rawHeaders'> | undefined {
  const text = bytes.toString('latin1', start, end)
  const headers = Object.create(null) as IncomingHttpHeaders
  const rawHeaders: string[] = []
  let at = start
  while (at < end) {
    const nameStart = at
    while (isIn(TOKEN_CHARACTER, bytes[at]!)) at += 1
    if (at === nameStart || bytes[at] !== COLON) return undefined
    const name = text.slice(nameStart - start, at - start)
    at += 1
    while (isSpace(bytes[at])) at += 1
    const valueStart = at
    while (isIn(VALUE_CHARACTER, bytes[at]!)) at += 1
    if (bytes[at] !== CR || bytes[at + 1] !== LF) return undefined
    let valueEnd = at
    while (valueEnd > valueStart && isSpace(bytes[valueEnd - 1])) valueEnd -= 1
    at += 2
    const key = name.toLowerCase()
    if (headers[key] !== undefined) return undefined
    const value = text.slice(valueStart - start, valueEnd - start)
    headers[key] = value
    rawHeaders.push(name, value)
  }
  return { headers, rawHeaders }
}

/** How the body ends and whether the connection goes on; undefined when that is not plain. */
function framingOf(method: string, headers: IncomingHttpHeaders): Pick<WireHead, 'length' | 'isLast'> | undefined {
  const { connection, upgrade, expect, 'content-length': length, 'transfer-encoding': coding } = headers
  if (upgrade !== undefined || expect !== undefined || headers['proxy-connection'] !== undefined) return undefined
  const wish = connection?.toLowerCase()
  if (wish !== undefined && wish !== 'keep-alive' && wish !== 'close') return undefined
  const isLast = wish === 'close'
  if (length === undefined && coding === undefined) return { length: 0, isLast }
  // A body where none belongs, or two ways to tell its end.
  if (method === 'GET' || (length !== undefined && coding !== undefined)) return undefined
  if (length !== undefined) return /^\d{1,15}$/.test(length) ? { length: Number(length), isLast } : undefined
  return coding === 'chunked' ? { length: undefined, isLast } : undefined
}

const TOKEN_CHARACTER = 1
const VALUE_CHARACTER = 2
const URL_CHARACTER = 4

const CLASSES = new Uint8Array(256)
for (let byte = 0; byte < 256; byte += 1) {
  const character = String.fromCharCode(byte)
  if (/[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(character)) CLASSES[byte]! |= TOKEN_CHARACTER
  if (byte === TAB || (byte >= SPACE && byte !== 0x7f)) CLASSES[byte]! |= VALUE_CHARACTER
  if (/[!$&'()*+,\-./:;=?@_~%0-9A-Za-z]/.test(character)) CLASSES[byte]! |= URL_CHARACTER
}

function isIn(kind: number, byte: number): boolean {
  return (CLASSES[byte]! & kind) !== 0
}

function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB
}
