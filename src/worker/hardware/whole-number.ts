/** A text that is nothing but a whole number of at most 20 digits; everything else, signs included, is null. */
export function wholeNumber(text: string | null | undefined): number | null {
  const digits = text?.trim()
  return digits && /^\d{1,20}$/.test(digits) ? Number(digits) : null
}
