import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureDashboard, needsDashboard } from './dashboard.js'
import { ensureInstalled } from './install.js'
import { canRunTypeScript, oldestNode, pinnedNode, runHere, runWith } from './launch.js'
import { stopInOrder, whenNpmIsGone } from './npm-parent.js'
import { Problem } from './problem.js'

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')

/** @param {string[]} args what follows `bootstrap.js` on the command line */
export async function start(args) {
  whenNpmIsGone(root, stopInOrder)
  try {
    // `--here` is how bootstrap calls itself with the pinned Node: everything is ready, only run the script.
    if (args[0] === '--here') return await runHere(root, resolveScript(args[1]), args.slice(2))
    const script = resolveScript(args[0])
    await ensureInstalled(root)
    if (needsDashboard(path.relative(root, script), args.slice(1))) await ensureDashboard(root)
    return await runOnBestNode(script, args.slice(1))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    if (error.output) process.stderr.write(`${error.output.trimEnd()}\n`)
    console.error(error.message)
    process.exitCode = error.exitCode
  }
}

/** Relative to the repository, not to the current folder: the scripts belong to the repository. */
function resolveScript(script) {
  if (!script) throw new Problem('Usage: node scripts/bootstrap.js <script.ts> [arguments]', { exitCode: 2 })
  return path.resolve(root, script)
}

async function runOnBestNode(script, args) {
  const pinned = pinnedNode(root)
  // One process when it can be: a parent that only waits costs 40 MB.
  if (canRunTypeScript() && (!pinned || pinned.version === process.versions.node)) {
    return await runHere(root, script, args)
  }
  if (pinned && (await runWith(pinned.file, script, args))) return
  // The pinned Node does not start here (it is built for glibc, this may be Alpine).
  if (pinned && canRunTypeScript()) return await runHere(root, script, args)
  const why = pinned ? `${pinned.file} does not start` : 'the one that Flotilla brings is missing (npm ignore-scripts?)'
  throw new Problem(
    `Flotilla needs Node ${oldestNode}, this is ${process.version}, and ${why}. ` +
      `Install Node ${oldestNode} or newer, or run "npm rebuild node --ignore-scripts=false" in ${root}.`,
  )
}
