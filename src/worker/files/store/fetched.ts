/** One file in the store. */
export interface Fetched {
  path: string
  sha256: string
  size: number
  etag: string | null
  last_modified: string | null
}

/** The progress of one file. */
export interface FileProgress {
  path: string
  doneBytes: number
  totalBytes: number | null
  /** The bytes of it that came over the network since this transfer began. */
  arrivedBytes: number
  /** How many files its source has; 1 when left out. */
  ofFiles?: number
}
