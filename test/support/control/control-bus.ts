import type { Bus } from '../../../src/bus/bus.ts'
import { AppError } from '../../../src/platform/errors.ts'

/** What a frontend said, on which subject, in order. */
export interface Said {
  by: string
  name: string
  message: unknown
}

/** One bus for several controls: what one publishes all of them hear. What it is asked, no worker answers. */
export class ControlBus {
  readonly said: Said[] = []
  /** What workers were asked, by which frontend. */
  readonly asked: Said[] = []
  readonly #heard: { by: string; name: string; handler: (message: never, nodeId: string) => void }[] = []
  readonly #answers: { by: string; name: string; handler: (message: never) => Promise<unknown> }[] = []

  /** The bus as the frontend `by` sees it. */
  of(by: string): Bus {
    return {
      publish: (name: string, message: unknown) => {
        this.said.push({ by, name, message })
        queueMicrotask(() => this.hear(name, message))
      },
      subscribe: (name: string, handler: never) => void this.#heard.push({ by, name, handler }),
      respond: (name: string, handler: never) => void this.#answers.push({ by, name, handler }),
      request: (name: string, message: unknown) => {
        this.asked.push({ by, name, message })
        return Promise.reject(new AppError('unavailable', 'nothing is listening'))
      },
      onReconnect() {},
      isConnected: () => true,
    } as unknown as Bus
  }

  /** As if it came over the bus. */
  hear(name: string, message: unknown, nodeId = ''): void {
    for (const one of this.#heard) if (one.name === name) one.handler(message as never, nodeId)
  }

  /** What each frontend answers, without those that keep silent. */
  async ask(name: string, message: unknown): Promise<{ by: string; answer: unknown }[]> {
    const asked = this.#answers.filter((one) => one.name === name)
    const answers = await Promise.all(
      asked.map(async ({ by, handler }) => ({ by, answer: await handler(message as never) })),
    )
    return answers.filter(({ answer }) => answer !== undefined)
  }
}
