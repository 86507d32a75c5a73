import { parseArgs } from 'node:util'

export interface Options {
  withPortkey: boolean
  withUndici: boolean
  /** Writes docs/reference/performance.md and its picture. */
  isWritten: boolean
  /** Where all figures go as JSON. */
  jsonFile: string | undefined
  rounds: number
  /** Idle streams whose memory is measured, twice so many in all. */
  streams: number
  /** For so long held streams come and go; 0 leaves it out. */
  churnS: number
  /** Growth of memory is measured over so many requests; 0 leaves it out. */
  requests: number
}

export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'with-portkey': { type: 'boolean', default: false },
      'with-undici': { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      json: { type: 'string' },
      rounds: { type: 'string', default: '4' },
      streams: { type: 'string', default: '2000' },
      churn: { type: 'string', default: '0' },
      requests: { type: 'string', default: '0' },
    },
  })
  return {
    withPortkey: values['with-portkey'],
    withUndici: values['with-undici'],
    isWritten: values.write,
    jsonFile: values.json,
    rounds: Number(values.rounds),
    streams: Number(values.streams),
    churnS: Number(values.churn),
    requests: Number(values.requests),
  }
}
