import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { root } from './lib/root.ts'

/**
 * `npm run dev [-- arguments of "flotilla up"]`: starts again whenever a source file it uses changes, and builds the
 * dashboard again when one of those changes; loading the page again shows it.
 */
const flags = ['--watch', '--watch-preserve-output', '--disable-warning=ExperimentalWarning']
const main = path.join(root, 'src/main.ts')
const child = spawn(process.execPath, [...flags, main, 'up', ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
  // The watcher passes signals on. In our process group Flotilla would get Ctrl-C twice, which means "at once".
  detached: true,
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
child.on('exit', (code) => (process.exitCode = code ?? 0))

/** An editor writes several files at once. */
const settleMs = 200
let soon: NodeJS.Timeout | undefined
let building = Promise.resolve()

for (const folder of ['ui', 'src/api', 'src/core']) {
  const watcher = fs.watch(path.join(root, folder), { recursive: true }, (_, name) => {
    if (name?.split(path.sep)[0] === 'dist') return
    clearTimeout(soon)
    soon = setTimeout(() => (building = building.then(rebuild)), settleMs)
  })
  child.on('exit', () => watcher.close())
}

/** Says what is wrong, and nothing when all is well. */
function rebuild(): Promise<void> {
  const args = ['scripts/build-ui.ts', '--if-stale']
  const builder = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  return new Promise((resolve) => builder.on('close', () => resolve()))
}
