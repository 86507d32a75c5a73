import type { NodeEngine } from '../types.ts'
import type { Room } from './room.ts'

/** Numbers for the kinds of nodes. A kind is all that a model's need of memory depends on. */
export class Kinds {
  readonly #numbers = new Map<string, number>()

  /** Kept with the room: making the key takes longer than all the rest of judging a node. */
  numberOf(room: Room, engineName: string, engine: NodeEngine): number {
    const { now } = room
    if (now.kind.engineName === engineName) return now.kind.number
    const text = describeKind(room, engine)
    let number = this.#numbers.get(text)
    if (number === undefined) this.#numbers.set(text, (number = this.#numbers.size))
    now.kind = { engineName, number }
    return number
  }
}

/** What the engine takes, its version, and which devices there are. */
function describeKind({ node }: Room, { version, uses }: NodeEngine): string {
  const { device, share, devicesOption, bytes, bytesOption } = uses
  const names = new Set(node.devices.map(({ name }) => name))
  const parts = [version, device, share?.option, share?.default, devicesOption, bytes, bytesOption, node.devices.length]
  return JSON.stringify([...parts, ...names])
}
