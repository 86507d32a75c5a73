/** One file that is to be fetched. */
export interface Wanted {
  /** Its path in the tree of the model's files. */
  path: string
  /** How messages call it: host and path, nothing secret. */
  label: string
  /** Equal for all that want the same bytes from the same place. */
  key: string
  /** What is known of it before it is asked for. */
  size: number | undefined
  sha256: string | undefined
  /** Where to get it now. Asked before every try: signatures age, and another server may be better. */
  locate(attempt: number, signal: AbortSignal): Promise<Located>
}

export interface Located {
  url: URL
  /** Headers that only this URL's own host may see. */
  credentials: Record<string, string>
  /** Whoever runs this machine has named the host: it may be in a network of one's own. */
  isOurs?: boolean
}
