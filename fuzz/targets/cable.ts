import fc from 'fast-check'
import { FrameReader } from '../../src/http/mux/frame-reader.ts'
import { CREDIT, DATA, END, FRAME_BYTES, PING, RESET, writeFrame } from '../../src/http/mux/frames.ts'
import { inPieces } from '../pieces.ts'
import { spoiled } from '../spoil.ts'
import { insist, type FuzzTarget } from '../target.ts'

const frame = (id: number, kind: number, amount: number, text = ''): Buffer => {
  const bytes = Buffer.concat([Buffer.alloc(FRAME_BYTES), Buffer.from(text)])
  writeFrame(bytes, 0, id, kind, amount)
  return bytes
}
const said = [
  Buffer.concat([frame(1, DATA, 5, 'hello'), frame(1, END, 0), frame(2, DATA, 300, 'x'.repeat(300))]),
  Buffer.concat([frame(0, PING, 0), frame(70_000, CREDIT, 65_536), frame(3, RESET, 0), frame(3, DATA, 0)]),
]

export const cableTargets: readonly FuzzTarget[] = [
  {
    name: 'cable-frames',
    reads: 'what is said on a cable, by a gateway or a data port',
    cases: fc.oneof(
      spoiled(said, ['\0\0\0\0', '\xff\xff\xff', '\0\0\0\0\0\0\0\x06']),
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    ),
    read(bytes) {
      const whole = readFrames([bytes])
      const pieces = readFrames(inPieces(bytes))
      insist(whole.why === pieces.why, 'what is refused in pieces is read whole, or the other way round')
      insist(whole.told.join() === pieces.told.join(), 'read in two ways')
      insist(whole.dataBytes <= bytes.length, 'more came out than went in')
    },
  },
]

function readFrames(pieces: readonly Buffer[]): { told: string[]; dataBytes: number; why: string | undefined } {
  const told: string[] = []
  let dataBytes = 0
  const reader = new FrameReader({
    onData(id, bytes) {
      dataBytes += bytes.length
      told.push(`${id}:${bytes.toString('latin1')}`)
    },
    onFrame: (id, kind, amount) => told.push(`${id} ${kind} ${amount}`),
  })
  try {
    for (const piece of pieces) reader.push(Buffer.from(piece))
  } catch (error) {
    if ((error as Error).constructor !== Error) throw error
    return { told, dataBytes, why: (error as Error).message }
  }
  return { told, dataBytes, why: undefined }
}
