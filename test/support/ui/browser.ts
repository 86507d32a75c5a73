import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** The browser of this machine. Without one the test fails: it is never skipped. */
export function findBrowser(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  for (const name of NAMES) {
    const folder = folders.find((candidate) => existsSync(join(candidate, name)))
    if (folder) return join(folder, name)
  }
  throw new Error(`No browser found (looked for ${NAMES.join(', ')} on PATH). On Debian: apt-get install chromium`)
}
