import type { MessageOf } from '../../../src/api/bus/subjects.ts'
import type { Loading, LoadStatus } from '../../../src/api/load-status.ts'
import { NobodyListensError, type Bus } from '../../../src/bus/bus.ts'

export type Wanted = MessageOf<'modelWanted'>

/** The control plane at the other end of the bus, as far as wanted models go: it says what the test says. */
export class ScriptedControl {
  /** What it is asked, in order. */
  readonly asked: Wanted[] = []
  /** Undefined: nobody answers. */
  answer: LoadStatus | undefined = aLoadStatus()

  readonly bus = {
    request: async (name: string, message: Wanted) => {
      this.asked.push(message)
      if (!this.answer) throw new NobodyListensError(name)
      return this.answer
    },
  } as unknown as Pick<Bus, 'request'>
}

export function aLoadStatus(fields: Partial<LoadStatus> = {}): LoadStatus {
  return { state: 'loading', loading: null, reason: null, next_attempt_at: null, ...fields }
}

export function aLoading(fields: Partial<Loading> = {}): Loading {
  const bytes = { progress: 43, bytes_sent: 43, total_bytes: 100, file_index: 0, total_files: 1 }
  return { model: 'm', state: 'staging', node: 'thor', ...bytes, ...fields }
}
