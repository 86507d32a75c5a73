import { stripVTControlCharacters } from 'node:util'
import { buildDashboard } from './lib/build-dashboard.ts'
import { stateOfBuild } from './lib/dashboard-stamp.js'
import { takeLock } from './lib/install-lock.js'
import { root } from './lib/root.ts'

/** `npm run build:ui`: the dashboard in ui/dist. With `--if-stale` only when it is not what its sources say. */
const isOptional = process.argv.includes('--if-stale')
const lock = await takeLock(root, { name: 'dashboard', doing: 'building the dashboard' })
try {
  // Somebody else may have built it while we waited.
  if (isOptional && stateOfBuild(root) === 'built') console.log('✓ the dashboard is built already')
  else await buildDashboard()
} catch (error) {
  // What the bundler says of a mistake in a source; its own stack is of no use to anybody.
  console.error(stripVTControlCharacters(error instanceof Error ? error.message : String(error)))
  process.exitCode = 1
} finally {
  lock.release()
}
