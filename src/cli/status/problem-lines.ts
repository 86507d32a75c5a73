import type { Problem } from '../../api/admin/cluster-schemas.ts'
import type { View } from '../client.ts'
import { counted } from '../terminal/format.ts'
import { plain, truncate } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'

const MOST_PROBLEMS = 10
/** Lines of one problem; `flotilla why` tells all of it. */
const MOST_LINES = 3
const INDENT = '  '

/** What is wrong, why, and what would help first. */
export function problemLines(problems: readonly Problem[], view: View): string[] {
  const more = problems.length - MOST_PROBLEMS
  return [
    view.paint('bold', 'What is wrong'),
    ...problems.slice(0, MOST_PROBLEMS).flatMap((problem) => linesOf(problem, view)),
    ...(more > 0 ? [`${INDENT}and ${counted(more, 'problem')} more; --json shows all`] : []),
  ]
}

function linesOf(problem: Problem, { width, paint }: View): string[] {
  const room = width - 2 * INDENT.length
  const text = plain(`${subjectOf(problem)}${problem.text}`)
  const [first, ...rest] = shorten(wrap(text, room, { breakWords: true }), room)
  const advice =
    problem.advice === null ? [] : wrap(plain(`What would help: ${problem.advice}`), room, { breakWords: true })
  const look = problem.severity === 'error' ? 'red' : 'yellow'
  return [
    `${INDENT}${paint(look, '!')} ${first!}`,
    ...[...rest, ...shorten(advice, room)].map((line) => INDENT + INDENT + line),
  ]
}

/** What it is about, before what is said of it. */
function subjectOf({ kind, node_name: node, model_name: model }: Problem): string {
  if (kind === 'replica') return node === null ? '' : `${node}: `
  const subject = model ?? node
  return subject === null ? '' : `${subject}: `
}

function shorten(lines: readonly string[], width: number): string[] {
  if (lines.length <= MOST_LINES) return [...lines]
  const last = lines[MOST_LINES - 1]!
  return [...lines.slice(0, MOST_LINES - 1), truncate(`${last} …`, width)]
}
