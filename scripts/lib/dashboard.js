import { spawn } from 'node:child_process'
import path from 'node:path'
import { stateOfBuild } from './dashboard-stamp.js'

/** Of what the build printed, kept to be shown if it fails. */
const maxOutputChars = 10_000

/**
 * Whether the dashboard is needed for what is about to run: a frontend serves it, and tests look at it.
 *
 * @param {string} script relative to the repository
 * @param {string[]} args
 */
export function needsDashboard(script, args) {
  if (script === 'src/main.ts')
    return (args[0] === 'up' || args[0] === 'frontend') && !args.includes('--help') && !args.includes('-h')
  return script === 'scripts/test.ts' || script === 'scripts/dev.ts'
}

/**
 * Makes ui/dist what its sources say. Flotilla works without it: when the build fails, that is said and no more.
 *
 * @param {string} root
 */
export async function ensureDashboard(root) {
  const state = stateOfBuild(root)
  if (state === 'built') return
  console.error(`Building the dashboard (${state === 'missing' ? 'first run' : 'its sources have changed'})...`)
  const startedMs = Date.now()
  const { ending, output } = await runBuild(root)
  const seconds = Math.round((Date.now() - startedMs) / 1000)
  if (ending === 'exit code 0') return console.error(`Built in ${seconds} s.`)
  const rest = state === 'missing' ? 'Going on without it' : 'Going on with the one from before'
  console.error(`${output.trimEnd()}\nThe dashboard was not built (${ending}). ${rest}; npm run build:ui tries again.`)
}

/** A process of its own: Vite takes 150 MB, which a server need not keep. It ends with us at Ctrl-C. */
function runBuild(root) {
  const args = [path.join(root, 'scripts/bootstrap.js'), 'scripts/build-ui.ts', '--if-stale']
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const keep = (chunk) => (output = (output + chunk).slice(-maxOutputChars))
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ ending: error.message, output }))
    child.on('close', (code, signal) => resolve({ ending: signal ? signal : `exit code ${code}`, output }))
  })
}
