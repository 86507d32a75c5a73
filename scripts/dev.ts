import path from 'node:path'
import { spawn } from 'node:child_process'
import { root } from './lib/root.ts'

/** `npm run dev [-- arguments of "flotilla up"]`: starts again whenever a source file it uses changes. */
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
