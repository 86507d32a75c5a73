import { plain } from '../../terminal/text-width.ts'

/** Text of others in a page: it is never read as markup. */
export function escape(text: string): string {
  return plain(text).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
