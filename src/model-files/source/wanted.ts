/** One file to fetch. */
export interface Wanted {
  /** Its path among the model's files. */
  path: string
  /** Its name in messages: host and path, nothing secret. */
  label: string
  /** Equal for requests of the same bytes from the same place. */
  key: string
  /** The size, if known beforehand. */
  size: number | undefined
  sha256: string | undefined
  /** The current URL. Called before every try: signatures expire, and another server may be better. */
  locate(attempt: number, signal: AbortSignal): Promise<Located>
}

export interface Located {
  url: URL
  /** Headers that only this URL's own host may get. */
  credentials: Record<string, string>
  /** The operator of this machine has named the host: it may be in a private network. */
  isOurs?: boolean
}
