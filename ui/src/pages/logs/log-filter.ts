import type { LogLine } from '../../../../src/api/admin/schemas.ts'

export type StreamFilter = 'all' | LogLine['stream']

/** Those of one stream that hold a text, whatever its case. */
export function filterLines(lines: readonly LogLine[], stream: StreamFilter, search: string): readonly LogLine[] {
  const wanted = search.trim().toLowerCase()
  if (stream === 'all' && wanted === '') return lines
  return lines.filter(
    (line) =>
      (stream === 'all' || line.stream === stream) && (wanted === '' || line.text.toLowerCase().includes(wanted)),
  )
}
