/** A text that is nothing but a whole number that can be held exactly; everything else, signs included, is null. */
export function wholeNumber(text: string | null | undefined): number | null {
  const digits = text?.trim()
  return digits && /^\d{1,20}$/.test(digits) ? safe(Number(digits)) : null
}

/** So many times a unit; null when there is no such number of bytes. */
export function times(count: number | null, unit: number): number | null {
  return count === null ? null : safe(count * unit)
}

function safe(value: number): number | null {
  return Number.isSafeInteger(value) ? value : null
}
