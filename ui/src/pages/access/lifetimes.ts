/** How long a key or a token lives, as a person chooses it. */
export const LIFETIMES = [
  { value: '3600', label: 'an hour' },
  { value: '86400', label: 'a day' },
  { value: '2592000', label: '30 days' },
  { value: '31536000', label: 'a year' },
  { value: '', label: 'no end' },
] as const

export type Lifetime = (typeof LIFETIMES)[number]['value']

/** As the API takes it: left out for no end. */
export function expiryOf(lifetime: Lifetime): { expires_in_s?: number } {
  return lifetime === '' ? {} : { expires_in_s: Number(lifetime) }
}

/** `a, b` as a list; left out when there is none. */
export function modelsOf(text: string): { models?: string[] } {
  const models = [...new Set(text.split(',').map((name) => name.trim()))].filter(Boolean)
  return models.length === 0 ? {} : { models }
}
