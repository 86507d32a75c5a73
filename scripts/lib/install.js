import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { takeLock } from './install-lock.js'
import { otherPaths } from './launch.js'
import { Problem } from './problem.js'
import { watchNpm, wordsOf } from './quiet-npm.js'

/** Of npm's output, kept to be shown if it fails. */
const maxOutputChars = 100_000

/**
 * Makes node_modules what package-lock.json says. A stamp inside node_modules names the lock file that it was made
 * from; it is written last, so that an interrupted installation has none and is done again.
 *
 * @param {string} root
 */
export async function ensureInstalled(root) {
  if (hasStamp(root)) return
  const lock = await takeLock(root)
  try {
    // Somebody else may have installed while we waited.
    if (hasStamp(root)) return
    if (!npmInstalledTheSame(root)) await install(root, lock)
    writeStamp(root)
  } finally {
    lock.release()
  }
}

const stampFile = (root) => path.join(root, 'node_modules/.flotilla-installed')
const lockFile = (root) => path.join(root, 'package-lock.json')
const npmsRecord = (root) => path.join(root, 'node_modules/.package-lock.json')

function hasStamp(root) {
  return readIfThere(stampFile(root)) === hashOfLock(root)
}

function writeStamp(root) {
  fs.mkdirSync(path.join(root, 'node_modules'), { recursive: true })
  fs.writeFileSync(stampFile(root), hashOfLock(root))
}

function hashOfLock(root) {
  const lock = readIfThere(lockFile(root))
  if (lock === undefined) throw new Problem(`${lockFile(root)} is missing: get a whole copy of the repository.`)
  return createHash('sha256').update(lock).digest('hex')
}

/** After `npm install` or `npm ci` by hand there is no stamp, but npm's own record says that nothing is left to do. */
function npmInstalledTheSame(root) {
  const record = readIfThere(npmsRecord(root))
  if (record === undefined) return false
  const installed = JSON.parse(record).packages
  const wanted = Object.entries(JSON.parse(fs.readFileSync(lockFile(root), 'utf8')).packages)
  return wanted.every(([folder, { version, integrity, optional }]) => {
    if (folder === '') return true
    const found = installed[folder]
    // Optional ones are for other operating systems and processors.
    if (!found) return optional === true
    return found.version === version && found.integrity === integrity && fs.existsSync(path.join(root, folder))
  })
}

async function install(root, lock) {
  const isUpdate = fs.existsSync(stampFile(root))
  console.error(
    isUpdate
      ? "Installing Flotilla's dependencies again (package-lock.json has changed)..."
      : "Installing Flotilla's dependencies (first run, about 350 MB)...",
  )
  fs.rmSync(stampFile(root), { force: true })
  fs.rmSync(npmsRecord(root), { force: true })
  const startedMs = Date.now()
  const { ending, output } = await runNpm(root, lock)
  const seconds = Math.round((Date.now() - startedMs) / 1000)
  if (ending === 'interrupted') throw new Problem('Interrupted: the next run installs again.', { exitCode: 130 })
  if (ending !== 'exit code 0') {
    throw new Problem(
      `npm ci failed (${ending}) after ${seconds} s: put right what npm says above (often the network, a proxy or ` +
        `a full disk), then run the same command again.`,
      { output },
    )
  }
  console.error(`Installed in ${seconds} s.`)
}

/** @returns {Promise<{ ending: string, output: string }>} */
function runNpm(root, lock) {
  const { command, before } = npmCommand(root)
  // Without dev dependencies there would be no Node that fits, whatever NODE_ENV says.
  const args = [...before, 'ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=http']
  const env = { ...process.env, PATH: otherPaths(root).join(path.delimiter) }
  // A process group of its own, so that npm and the install scripts under it can be stopped together.
  const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  // If we are killed, npm goes on: the lock stays taken until both are gone.
  if (child.pid) lock.alsoHeldBy(child.pid)

  let output = ''
  const watch = watchNpm({ registry: () => registryHost(command, before, { cwd: root, env }), say: console.error })
  const keep = (chunk) => {
    output = (output + chunk).slice(-maxOutputChars)
    watch.heard(String(chunk))
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)

  let isInterrupted = false
  const stop = () => {
    isInterrupted = true
    if (child.pid && child.exitCode === null) process.kill(-child.pid, 'SIGTERM')
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'orphaned']
  for (const signal of signals) process.on(signal, stop)
  return new Promise((resolve, reject) => {
    child.on('error', (error) => {
      watch.end()
      const line =
        error.code === 'ENOENT'
          ? 'npm was not found, and Flotilla needs it to install its dependencies: install npm, or put it on PATH.'
          : `npm did not start: ${error.message}`
      reject(new Problem(line))
    })
    child.on('close', (code, signal) => {
      watch.end()
      for (const name of signals) process.off(name, stop)
      const ending = isInterrupted ? 'interrupted' : signal ? signal : `exit code ${code}`
      resolve({ ending, output: wordsOf(output) })
    })
  })
}

/** The machine that packages come from, by npm's own configuration; without what may be secret in its address. */
function registryHost(command, before, options) {
  return new Promise((resolve) => {
    execFile(command, [...before, 'config', 'get', 'registry'], { ...options, timeout: 5000 }, (error, stdout) => {
      const text = stdout.trim()
      resolve(!error && URL.canParse(text) ? new URL(text).host : undefined)
    })
  })
}

/** npm may be reached in two ways; neither must run on the Node inside node_modules, which npm is about to delete. */
function npmCommand(root) {
  const cli = process.env.npm_execpath
  if (!cli || path.basename(cli) !== 'npm-cli.js' || !fs.existsSync(cli)) return { command: 'npm', before: [] }
  const isOwnNode = process.execPath.startsWith(path.join(root, 'node_modules'))
  return { command: isOwnNode ? 'node' : process.execPath, before: [cli] }
}

function readIfThere(file) {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw new Problem(`Cannot read ${file}: ${error.message}`)
  }
}
