type Env = Readonly<Record<string, string | undefined>>

/** Whether a stream gets colours: a terminal does, unless the environment says in one of three usual ways that it must not. */
export function wantsColour(stream: { isTTY?: boolean }, env: Env = process.env): boolean {
  if (env['NO_COLOR'] || env['TERM'] === 'dumb') return false
  if (['0', 'false'].includes(env['FORCE_COLOR'] ?? '')) return false
  return stream.isTTY === true
}

/**
 * Whether the terminal shows more than ASCII, by the locale if one is set. With none set the answer is yes: containers,
 * cron and ssh start programs that way, and nearly every terminal uses UTF-8. On another terminal, set LANG=C.
 */
export function knowsUtf8(env: Env = process.env): boolean {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || ''
  return locale === '' || /utf-?8/i.test(locale)
}

/** Our own symbols; names from users stay as they are, so that they can be typed again. */
const SIGNS: Readonly<Record<string, string>> = { '…': '...', '→': '->' }
const BARS = '▁▂▃▄▅▆▇█'
const ASCII_BARS = '_.-:=+*#'

/** Replaces them by ASCII. JSON keeps its meaning, with its characters escaped. */
export function toAscii(text: string): string {
  if (/^[{[]\s*["{[\]}\n]/.test(text)) return text.replaceAll(/[^\p{ASCII}]/gu, escaped)
  return text.replaceAll(/[…→▁-█]/g, (sign) => SIGNS[sign] ?? ASCII_BARS[BARS.indexOf(sign)]!)
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, i) => {
    return String.raw`\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`
  }).join('')
}
