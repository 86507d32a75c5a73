import { spawn } from 'node:child_process'
import fs from 'node:fs'
import module from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/**
 * Flags for the Node that runs a script. The first reaches worker threads and forks too, which the listener in `runHere`
 * does not; the second keeps 20 MB from being set aside for young objects (`npm start` and ./flotilla give it as well).
 */
const nodeFlags = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=1']

/** The first Node that strips types without a flag. */
export const oldestNode = '22.18'

export function canRunTypeScript(version = process.versions.node) {
  const [major, minor] = version.split('.').map(Number)
  const [oldestMajor, oldestMinor] = oldestNode.split('.').map(Number)
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
}

/**
 * The Node that came with the dependencies; undefined when its install script did not run.
 *
 * @param {string} root
 */
export function pinnedNode(root) {
  const folder = path.join(root, 'node_modules/node')
  const file = path.join(folder, 'bin/node')
  if (!fs.existsSync(file)) return undefined
  return { file, version: JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')).version }
}

/**
 * Runs the script in this process, as if it had been started with `node <script> <args>`.
 *
 * @param {string} root
 * @param {string} script
 * @param {string[]} args
 */
export async function runHere(root, script, args) {
  process.argv = [process.execPath, script, ...args]
  process.env.PATH = [path.join(root, 'node_modules/.bin'), ...otherPaths(root)].join(path.delimiter)
  hideExperimentalWarnings()
  useCompileCache(path.join(root, 'node_modules/.cache/compiled'))
  process.once('beforeExit', complain)
  await import(pathToFileURL(script).href)
  process.off('beforeExit', complain)
}

/**
 * Compiled code is kept between runs. Measured: a one-line script starts in 24 ms instead of 58 ms, and what needs no
 * type stripping does not load the stripper, 20 MB in each thread and process. The variable hands it on to those.
 */
function useCompileCache(folder) {
  module.enableCompileCache?.(folder)
  process.env.NODE_COMPILE_CACHE = folder
  // Otherwise written at a clean exit only, and a server may be killed.
  setTimeout(() => module.flushCompileCache?.(), 5000).unref()
}

/** A script that waits for what can never happen must not end with success; plain `node <script>` ends with 13 too. */
function complain() {
  console.error(`${process.argv[1]} ended before it was done: it waits for a promise that nothing settles.`)
  process.exitCode = 13
}

/** PATH without this repository's own programs. */
export function otherPaths(root) {
  const own = path.join(root, 'node_modules')
  return (process.env.PATH ?? '').split(path.delimiter).filter((folder) => !path.resolve(folder).startsWith(own))
}

/** We chose the features that Node calls experimental; the people who run Flotilla did not and need no warning. */
function hideExperimentalWarnings() {
  const listeners = process.listeners('warning')
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    if (warning.name === 'ExperimentalWarning') return
    for (const listener of listeners) listener(warning)
  })
}

/**
 * Runs the script with another Node and ends as it ends. Resolves to false when that Node cannot be started.
 *
 * @param {string} node
 * @param {string} script
 * @param {string[]} args
 * @returns {Promise<boolean>}
 */
export function runWith(node, script, args) {
  const bootstrap = fileURLToPath(new URL('../bootstrap.js', import.meta.url))
  const child = spawn(node, [...nodeFlags, bootstrap, '--here', script, ...args], {
    stdio: 'inherit',
  })
  let isAsked = false
  const pass = (signal) => {
    isAsked = true
    child.kill(signal)
  }
  // Ctrl-C reaches the child from the terminal, and the child decides what it means. The others are sent to us alone.
  const handlers = {
    SIGINT: () => void (isAsked = true),
    SIGTERM: () => pass('SIGTERM'),
    SIGHUP: () => pass('SIGHUP'),
    orphaned: () => isAsked || pass('SIGTERM'),
  }
  for (const [signal, handler] of Object.entries(handlers)) process.on(signal, handler)
  return new Promise((resolve) => {
    child.on('error', () => {
      for (const [signal, handler] of Object.entries(handlers)) process.off(signal, handler)
      resolve(false)
    })
    child.on('exit', (code, signal) => {
      for (const [name, handler] of Object.entries(handlers)) process.off(name, handler)
      process.exitCode = code ?? 128 + (os.constants.signals[signal] ?? 0)
      // Dying of the same signal tells a shell or a supervisor the truth.
      if (signal) process.kill(process.pid, signal)
      resolve(true)
    })
  })
}
