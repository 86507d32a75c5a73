import type { Socket } from 'node:net'
import type { HttpResponse } from '../exchange.ts'

/** The pauses between probes: at first a round trip on a fast network, in the end on any. */
const ASK_AGAIN_MS = [20, 80, 400, 2000, 5000]
/**
 * Finds out whether a client that has closed its sending side still wants its answers. A client that has only finished
 * sending looks the same as one that has gone, until something is sent to it: the machine of a closed connection answers
 * with a reset, and the next write fails. So the server sends bytes without a meaning. It takes two writes, a round trip
 * apart; then the connection closes, and that cancels its requests.
 */
export function watchHalfClosed(socket: Socket, open: Iterable<HttpResponse>): void {
  let timer: NodeJS.Timeout | undefined
  let asked = 0
  let bytesWritten = -1
  const ask = (): void => {
    const [answer] = open
    if (!answer || socket.destroyed) return
    if (!sayNothing(socket, answer, asked) && !answer.writableEnded) {
      // A client that cannot be probed, and got nothing since the last check, counts as gone.
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

/** False when no bytes without a meaning can be sent now. */
function sayNothing(socket: Socket, answer: HttpResponse, asked: number): boolean {
  if (answer.req.httpVersion === '1.0') return false
  if (!answer.headersSent) {
    // Every client must ignore an unexpected 100 Continue.
    answer.writeContinue()
    return true
  }
  if (!isBetweenChunks(answer)) return false
  // A leading zero does not change the next chunk's length; too many would make its line too long.
  if (asked < ASK_AGAIN_MS.length) socket.write('0')
  return true
}

function isBetweenChunks(answer: HttpResponse): boolean {
  // `headersSent` is already true while the head still waits to be written; only this field says that it was.
  const hasLeft = (answer as { _headerSent?: boolean })._headerSent === true
  return hasLeft && answer.chunkedEncoding && !answer.writableEnded
}
