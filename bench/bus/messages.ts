/** What the bench's processes tell each other over their IPC channels. */
export type Work =
  | { kind: 'requests'; inFlight: number; bytes: number; durationMs: number }
  | { kind: 'publishes'; subscribers: number; bytes: number; count: number }

export interface Ready {
  ready: true
  url: string
}

export interface Done {
  perSecond: number
}

export const ECHO_SUBJECT = 'bench.echo'
export const FINISHED_SUBJECT = 'bench.finished'
/** Each number of subscribers has its own subject, so that all can stay subscribed between rounds. */
export const flowSubject = (subscribers: number): string => `bench.flow.${subscribers}`
/** On which the subscribers are told, before a round, how many messages they have to see until it is finished. */
export const expectSubject = (subscribers: number): string => `bench.expect.${subscribers}`
