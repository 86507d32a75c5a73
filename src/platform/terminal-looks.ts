type Env = Readonly<Record<string, string | undefined>>

/** Whether a stream gets colours: a terminal does, unless the environment says in one of three usual ways that it must not. */
export function wantsColour(stream: { isTTY?: boolean }, env: Env = process.env): boolean {
  if (env['NO_COLOR'] || env['TERM'] === 'dumb') return false
  if (['0', 'false'].includes(env['FORCE_COLOR'] ?? '')) return false
  return stream.isTTY === true
}

/**
 * Whether what reads us knows more than ASCII. The locale says so where there is one. With none set it is taken to: that is
 * how containers, cron and ssh start programs, and the terminal beyond them is one of UTF-8 nearly everywhere. Whoever has a
 * terminal that is not says so by LANG=C.
 */
export function knowsUtf8(env: Env = process.env): boolean {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || ''
  return locale === '' || /utf-?8/i.test(locale)
}

/** Our own signs; names of others stay as they are, to be typed again. */
const SIGNS: Readonly<Record<string, string>> = { '…': '...', '→': '->' }
const BARS = '▁▂▃▄▅▆▇█'
const ASCII_BARS = '_.-:=+*#'

/** The same in ASCII. JSON means the same with its characters escaped. */
export function toAscii(text: string): string {
  if (/^[{[]\s*["{[\]}\n]/.test(text)) return text.replaceAll(/[^\p{ASCII}]/gu, escaped)
  return text.replaceAll(/[…→▁-█]/g, (sign) => SIGNS[sign] ?? ASCII_BARS[BARS.indexOf(sign)]!)
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, i) => {
    return String.raw`\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`
  }).join('')
}
