import { cutText } from '../core/lib/cut-text.ts'

const MOST_PROBLEMS = 3
const MOST_CHARS = 500

interface Problem {
  path: readonly PropertyKey[]
  message: string
}

/**
 * What is wrong with an input, for its sender: the first three problems in at most 500 characters, since an input of a
 * megabyte may have a hundred thousand. `whole` names the input where a problem is not about one field.
 */
export function problemText(problems: readonly Problem[], whole: string): string {
  const named = problems.slice(0, MOST_PROBLEMS).map((problem) => `${pathText(problem) || whole}: ${problem.message}`)
  const more = problems.length - named.length
  return cutText(`${named.join('; ')}${more > 0 ? `; and ${more} more` : ''}`, MOST_CHARS)
}

/** The field that the first problem is about; null when it is about none. */
export function problemParam([first]: readonly Problem[]): string | null {
  return first ? pathText(first) || null : null
}

/** Field names in it come from the sender. */
function pathText({ path }: Problem): string {
  return cutText(path.map((step) => cutText(String(step), 100)).join('.'), 200)
}
