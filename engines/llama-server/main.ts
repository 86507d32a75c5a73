/**
 * `node main.ts [folder]`: builds llama-server there, or in the current folder. It prints signs of life: a build takes
 * eight minutes on two cores, and none when a machine of this kind has built it before.
 */
import { buildLlamaServer } from './build.ts'
import { BuildError } from './build-error.ts'
import { PINNED_SOURCE } from './source.ts'

try {
  await buildLlamaServer({
    folder: process.argv[2] ?? process.cwd(),
    source: PINNED_SOURCE,
    env: process.env,
    say: (line) => void process.stdout.write(`${line}\n`),
  })
} catch (error) {
  if (!(error instanceof BuildError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
