import { z } from 'zod'
import { LABEL_LIMITS, labelProblem, SLOTS_LABEL } from '../core/nodes/labels.ts'
import { isAbsence, isNegated, labelOf } from '../core/nodes/selector.ts'
import type { Selector } from '../core/types.ts'

const expected = 'must be text, or a list of texts; a number needs quotes'

/** What the labels of a node must be. Whatever no node could ever meet is refused: the rule would wait for ever. */
export const selector = z
  .record(
    z.string(),
    z.union([z.string(), z.array(z.string(expected)).readonly()], expected),
    'must be labels, as in {"tier": "fast"}',
  )
  .superRefine((given, context) => {
    for (const { path, message } of problems(given)) context.addIssue({ code: 'custom', path, message })
  })

interface Problem {
  path: string[]
  message: string
}

function problems(given: Selector): Problem[] {
  const entries = Object.entries(given)
  if (entries.length > LABEL_LIMITS.perNode) {
    return [{ path: [], message: `a node may have ${LABEL_LIMITS.perNode} labels, this asks for ${entries.length}` }]
  }
  return entries.flatMap(([key, wanted]): Problem[] => {
    // A label that cannot be is told with its key, as everywhere else; what this grammar adds, by the path.
    const impossible = impossibleLabel(key, wanted)
    if (impossible !== undefined) return [{ path: [], message: impossible }]
    const message = mistake(given, key, wanted)
    return message === undefined ? [] : [{ path: [key], message }]
  })
}

/** A selector may ask for the label of the slots, although it cannot be set. */
function impossibleLabel(key: string, wanted: string | readonly string[]): string | undefined {
  const label = labelOf(key)
  const values = typeof wanted === 'string' ? [isNegated(wanted) ? wanted.slice(1) : wanted] : wanted
  const [problem] = values.flatMap((value) => labelProblem(label === SLOTS_LABEL ? 'slots' : label, value) ?? [])
  return problem
}

function mistake(given: Selector, key: string, wanted: string | readonly string[]): string | undefined {
  if (isAbsence(key)) {
    if (wanted !== '') return 'asks for a node without the label, so it takes no value: write ""'
    if (isAbsence(labelOf(key))) return 'a label whose name begins with "!" cannot be asked for'
    const same = Object.hasOwn(given, labelOf(key)) ? given[labelOf(key)] : undefined
    const isContradicted = same !== undefined && (typeof same !== 'string' || !isNegated(same))
    return isContradicted ? `no node can meet this and ${JSON.stringify(labelOf(key))} at once` : undefined
  }
  if (typeof wanted === 'string') {
    return wanted.startsWith('!!') ? 'a value that begins with "!" cannot be asked for' : undefined
  }
  if (wanted.length === 0) return 'an empty list matches no node: name a value, or leave the label out'
  if (wanted.length > MOST_VALUES) return `may name ${MOST_VALUES} values, not ${wanted.length}`
  const negated = wanted.find(isNegated)
  if (negated === undefined) return undefined
  return `${JSON.stringify(negated)} cannot be one of several: "!" stands before a single value, and means any other`
}

const MOST_VALUES = 100
