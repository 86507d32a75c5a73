/** Parses a text that is only a safe integer; null for anything else, signs included. */
export function wholeNumber(text: string | null | undefined): number | null {
  const digits = text?.trim()
  return digits && /^\d{1,20}$/.test(digits) ? safe(Number(digits)) : null
}

/** The product in bytes; null when it is not a safe integer. */
export function times(count: number | null, unit: number): number | null {
  return count === null ? null : safe(count * unit)
}

function safe(value: number): number | null {
  return Number.isSafeInteger(value) ? value : null
}
