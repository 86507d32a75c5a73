/** Engines may say a lot in one line; the row has all of it. */
const MOST_CHARS = 500

/** Why a replica failed, in one line: how its engine ended, and what it said last. Empty when nothing is known. */
export function failureText(error: string | null): string {
  const lines = (error ?? '').split('\n').map((line) => line.trim())
  const [first = '', ...said] = lines.filter((line) => line !== '')
  const last = said.at(-1)
  const how = first.replace(/ Its last lines:$/, '').slice(0, MOST_CHARS)
  if (last === undefined) return how
  return `${how}${/[.!?]$/.test(how) ? '' : '.'} It said last: ${last.slice(0, MOST_CHARS)}`
}
