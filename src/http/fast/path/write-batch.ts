import type { Socket } from 'node:net'
import { Strand } from '../../mux/mux-stream.ts'
import { Scratch } from '../../upstream/read-buffer.ts'

/** Whoever wants to know what became of a write. */
export interface Writer {
  /** The system has taken all of it, or some of it is still to be sent. */
  onWritten(isTaken: boolean): void
}

/** One write of those that are done together: the first so many bytes of its memory. */
interface Place {
  scratch: Scratch
  length: number
  socket: Socket | undefined
  writer: Writer | undefined
  isTaken: boolean
}

/** With so many the first of them has waited for as long as all of them take. */
const MOST_TOGETHER = 32
/** After so long without a write the next one is not made to wait for others. */
const ALONE_MS = 0.03

const places: Place[] = []
/** How many of them wait. */
let waiting = 0
let isEndAwaited = false
let isWriting = false
let lastMs = 0
/** Of what does not wait. */
let scratch = new Scratch()

/**
 * Where the next write is to be put together, for `writeFrom`. Writes of one turn of the event loop are done one after
 * another at its end: the code by which the system sends does not fit the processor's nearest caches together with ours,
 * and is fetched once for all of them instead of once for each. `writer` is told when it is done; nobody else writes to
 * this socket until then.
 */
export function scratchForNext(socket: Socket, writer: Writer | undefined): Scratch {
  if (!writer || isWriting || socket instanceof Strand) return scratch
  return waiting === 0 && isAlone() ? scratch : (places[waiting] ??= newPlace()).scratch
}

/** Writes the first so many bytes of what `scratchForNext` has just returned. */
export function writeFrom(from: Scratch, length: number, socket: Socket, writer: Writer | undefined): void {
  if (from === scratch) {
    socket.write(from.first(length))
    const isTaken = socket.writableLength === 0
    if (!isTaken) scratch = new Scratch()
    return writer?.onWritten(isTaken)
  }
  const place = places[waiting]!
  place.length = length
  place.socket = socket
  place.writer = writer
  waiting += 1
  if (waiting === MOST_TOGETHER) return writeAll()
  if (isEndAwaited) return
  isEndAwaited = true
  setImmediate(onEnd)
}

function isAlone(): boolean {
  const nowMs = performance.now()
  const sinceMs = nowMs - lastMs
  lastMs = nowMs
  return sinceMs > ALONE_MS
}

function newPlace(): Place {
  return { scratch: new Scratch(), length: 0, socket: undefined, writer: undefined, isTaken: false }
}

function onEnd(): void {
  isEndAwaited = false
  if (waiting > 0) writeAll()
}

/** What follows from a write is done when all are written. What that writes in turn has waited already. */
function writeAll(): void {
  isWriting = true
  for (let i = 0; i < waiting; i += 1) {
    const place = places[i]!
    const socket = place.socket!
    socket.write(place.scratch.first(place.length))
    place.isTaken = socket.writableLength === 0
    // What the system has not taken keeps its memory.
    if (!place.isTaken) place.scratch = new Scratch()
  }
  lastMs = performance.now()
  for (let i = 0; i < waiting; i += 1) {
    const place = places[i]!
    const { writer, isTaken } = place
    place.socket = undefined
    place.writer = undefined
    writer!.onWritten(isTaken)
  }
  waiting = 0
  isWriting = false
}
