import type { Socket } from 'node:net'
import { Strand } from '../../mux/mux-stream.ts'
import { Scratch } from '../../upstream/read-buffer.ts'

/** Is told the result of a write. */
export interface Writer {
  /** `isTaken`: the operating system has taken all of it; otherwise some of it is still queued. */
  onWritten(isTaken: boolean): void
}

/** One write of the batch: the first `length` bytes of its memory. */
interface Place {
  scratch: Scratch
  length: number
  socket: Socket | undefined
  writer: Writer | undefined
  isTaken: boolean
}

/** A limit, because the first write of a batch waits while all of them are prepared. */
const MOST_TOGETHER = 32
/** After this long without a write, the next one does not wait for others. */
const ALONE_MS = 0.03

const places: Place[] = []
/** How many of the places are in use. */
let waiting = 0
let isEndAwaited = false
let isWriting = false
let lastMs = 0
/** For writes that do not wait. */
let scratch = new Scratch()

/**
 * The memory in which to prepare the next write, for `writeFrom`. The writes of one turn of the event loop are done one
 * after another at its end: the system's sending code and ours do not fit the processor's nearest caches together, so it is
 * loaded once per batch instead of once per write. `writer` is told when the write is done; nothing else may write to this
 * socket until then.
 */
export function scratchForNext(socket: Socket, writer: Writer | undefined): Scratch {
  if (!writer || isWriting || socket instanceof Strand) return scratch
  return waiting === 0 && isAlone() ? scratch : (places[waiting] ??= newPlace()).scratch
}

/** Writes the first `length` bytes of the memory that `scratchForNext` has just returned. */
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

/** Calls the writers back after all writes are done. Writes made in those callbacks are done at once: they waited already. */
function writeAll(): void {
  isWriting = true
  for (let i = 0; i < waiting; i += 1) {
    const place = places[i]!
    const socket = place.socket!
    socket.write(place.scratch.first(place.length))
    place.isTaken = socket.writableLength === 0
    // Bytes still queued in the socket keep their memory.
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
