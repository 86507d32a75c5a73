import type { MouseEvent } from 'react'

/** True for a click on something that shows, not on something that acts, and not for the end of selecting text. */
export function isPlainClick({ target, currentTarget }: MouseEvent<HTMLElement>): boolean {
  if (!(target instanceof Element)) return false
  // A menu that hangs elsewhere on the page still tells those that it belongs to.
  if (!currentTarget.contains(target)) return false
  if (target.closest('a, button, input, summary')) return false
  return getSelection()?.isCollapsed ?? true
}
