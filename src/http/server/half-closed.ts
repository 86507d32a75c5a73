import type { Socket } from 'node:net'
import type { HttpResponse } from '../exchange.ts'

/** How long to wait before asking again: at first a round trip on a fast network, in the end on any. */
const ASK_AGAIN_MS = [20, 80, 400, 2000, 5000]
/**
 * Finds out whether a client that has closed its side still wants its answers. From here one who has only said all he has
 * to say looks the same as one who is gone, until something is sent to him: a machine answers for a connection that
 * nobody reads any more with a reset, and the next write fails on it. So we say something that means nothing. It takes
 * two writes, a round trip apart; then the connection closes, and that cancels what was asked for.
 */
export function watchHalfClosed(socket: Socket, open: Iterable<HttpResponse>): void {
  let timer: NodeJS.Timeout | undefined
  let asked = 0
  let bytesWritten = -1
  const ask = (): void => {
    const [answer] = open
    if (!answer || socket.destroyed) return
    if (!sayNothing(socket, answer, asked) && !answer.writableEnded) {
      // One who cannot be asked, and to whom nothing could be sent since the last time, is taken for gone.
      if (socket.bytesWritten === bytesWritten && socket.writableLength === 0) return void socket.destroy()
      bytesWritten = socket.bytesWritten
    }
    asked += 1
    timer = setTimeout(ask, ASK_AGAIN_MS[Math.min(asked, ASK_AGAIN_MS.length) - 1])
    timer.unref()
  }
  ask()
  socket.once('close', () => clearTimeout(timer))
}

/** False when there is nothing to say that would mean nothing. */
function sayNothing(socket: Socket, answer: HttpResponse, asked: number): boolean {
  if (answer.req.httpVersion === '1.0') return false
  if (!answer.headersSent) {
    // Every client must know what to do with it, or rather that there is nothing to do.
    answer.writeContinue()
    return true
  }
  if (!isBetweenChunks(answer)) return false
  // A zero before the length of the next chunk does not change it; many would make it too long to be one.
  if (asked < ASK_AGAIN_MS.length) socket.write('0')
  return true
}

function isBetweenChunks(answer: HttpResponse): boolean {
  // Whether the head has left is not the same as `headersSent`, and is told nowhere else.
  const hasLeft = (answer as { _headerSent?: boolean })._headerSent === true
  return hasLeft && answer.chunkedEncoding && !answer.writableEnded
}
