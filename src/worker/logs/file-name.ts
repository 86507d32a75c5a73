import { createHash } from 'node:crypto'

const MOST_READABLE_CHARS = 60

/**
 * The name of a replica's log on disk, without extension. Its beginning is for people; the hash makes it unique,
 * whatever the key contains and however long it is, also on file systems that ignore case. The key itself is in every
 * line.
 */
export function logFileName(key: string): string {
  const readable = key
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MOST_READABLE_CHARS)
  // Hashed as UTF-16, because UTF-8 maps all broken characters to the same bytes.
  const hash = createHash('sha256').update(key, 'utf16le').digest('hex').slice(0, 32)
  return `${readable}.${hash}`
}
