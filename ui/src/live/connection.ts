import type { LiveMessage } from '../../../src/api/admin/live-schemas.ts'
import { call, urlOf } from '../api/call.ts'
import { nothingYet, takeIn, type World } from './world.ts'

/** `connecting` before the first message; `lost` when there was one and now nobody answers; `signed out` for good. */
export type ConnectionState = 'connecting' | 'live' | 'lost' | 'signed out'

export interface Live {
  world: World
  state: ConnectionState
}

const FIRST_RETRY_MS = 500
const LONGEST_RETRY_MS = 5000
/** A page that nobody looks at lets go of its connection after so long: a browser has six for all its tabs. */
const HIDDEN_MS = 60_000

/** Follows the cluster. Whoever listens is told at most once a frame, however fast messages come. */
class LiveConnection {
  #live: Live = { world: nothingYet, state: 'connecting' }
  readonly #listeners = new Set<() => void>()
  #source: EventSource | undefined
  #retryMs = FIRST_RETRY_MS
  #retry: ReturnType<typeof setTimeout> | undefined
  #frame = 0

  readonly current = (): Live => this.#live

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Connects, and again whenever the connection is lost. Returns what ends it. */
  start(): () => void {
    let hiddenTimer: ReturnType<typeof setTimeout> | undefined
    const onVisibility = (): void => {
      clearTimeout(hiddenTimer)
      if (document.hidden) hiddenTimer = setTimeout(() => this.#close(), HIDDEN_MS)
      else if (!this.#source && this.#retry === undefined) this.#open()
    }
    document.addEventListener('visibilitychange', onVisibility)
    this.#open()
    return () => {
      clearTimeout(hiddenTimer)
      document.removeEventListener('visibilitychange', onVisibility)
      this.#close()
      this.#live = { world: nothingYet, state: 'connecting' }
    }
  }

  #open(): void {
    this.#retry = undefined
    const source = new EventSource(urlOf('watchCluster'))
    this.#source = source
    source.addEventListener('message', ({ data }: MessageEvent<string>) => {
      this.#retryMs = FIRST_RETRY_MS
      const world = takeIn(this.#live.world, JSON.parse(data) as LiveMessage, Date.now())
      this.#set({ world, state: 'live' })
    })
    // The browser would come back by itself, but not after an answer that is no stream, as while a frontend starts.
    source.addEventListener('error', () => {
      if (this.#source !== source) return
      this.#close()
      void this.#whyLost()
    })
  }

  /** Nobody there, or nobody signed in? */
  async #whyLost(): Promise<void> {
    const isSignedOut = await call('showSession').then(
      ({ signed_in: isIn }) => !isIn,
      () => false,
    )
    if (this.#source || this.#retry !== undefined) return
    if (isSignedOut) return this.#set({ ...this.#live, state: 'signed out' })
    const { state } = this.#live
    this.#set({ ...this.#live, state: state === 'connecting' ? state : 'lost' })
    // Spread out, or all pages would fall upon a frontend that is back in the same moment.
    this.#retry = setTimeout(() => this.#open(), this.#retryMs * (0.75 + Math.random() / 2))
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS)
  }

  #close(): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
    this.#source?.close()
    this.#source = undefined
  }

  #set(live: Live): void {
    this.#live = live
    if (this.#frame !== 0) return
    const tellAll = (): void => {
      this.#frame = 0
      for (const listener of this.#listeners) listener()
    }
    // Frames do not come while the page is hidden.
    this.#frame = document.hidden ? -1 : requestAnimationFrame(tellAll)
    if (this.#frame === -1) queueMicrotask(tellAll)
  }
}

export const liveConnection = new LiveConnection()
