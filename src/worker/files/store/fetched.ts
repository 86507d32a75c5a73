/** One file that is here. */
export interface Fetched {
  path: string
  sha256: string
  size: number
  etag: string | null
  last_modified: string | null
}

/** How far one file has come. */
export interface FileProgress {
  path: string
  doneBytes: number
  totalBytes: number | null
  /** What of it came over the network since this transfer began. */
  arrivedBytes: number
  /** How many files the source has that it belongs to; one that comes alone has this one. */
  ofFiles?: number
}
