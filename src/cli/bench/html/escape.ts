import { plain } from '../../terminal/text-width.ts'

/** Escapes untrusted text, so that it is never read as markup. */
export function escape(text: string): string {
  return plain(text).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
