import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Finding } from './try-cases.ts'

/** Cases that once failed, by target. They are tried again in every run of the tests. */
export const REGRESSIONS = join(import.meta.dirname, 'regressions')

/** Writes a case down and returns the file. One byte is one character of its text, so that most can be read. */
export function keepRegression(target: string, { bytes, why }: Finding, folder = REGRESSIONS): string {
  const name = createHash('sha256').update(bytes).digest('hex').slice(0, 12)
  const file = join(folder, target, `${name}.json`)
  mkdirSync(join(folder, target), { recursive: true })
  const found = why.split('\n', 1)[0]!.slice(0, 300)
  writeFileSync(file, `${JSON.stringify({ found, bytes: bytes.toString('latin1') }, null, 2)}\n`)
  return file
}

export function regressionsOf(target: string, folder = REGRESSIONS): { file: string; bytes: Buffer }[] {
  return globSync(`${target}/*.json`, { cwd: folder })
    .toSorted()
    .map((file) => {
      const { bytes } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { bytes: string }
      return { file, bytes: Buffer.from(bytes, 'latin1') }
    })
}
