/** Looks of a terminal, by their SGR codes: what switches one on and what switches it off. */
const LOOKS = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
} as const

export type Look = keyof typeof LOOKS
/** Puts a look on a text, or leaves it alone where there are no colours. */
export type Paint = (look: Look, text: string) => string

export function painter(colour: boolean): Paint {
  return (look, text) => {
    const [on, off] = LOOKS[look]
    return colour && text !== '' ? `\u001B[${on}m${text}\u001B[${off}m` : text
  }
}
