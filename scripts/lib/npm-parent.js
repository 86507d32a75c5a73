import path from 'node:path'

/** How soon the end of npm is noticed. */
const lookEveryMs = 250

/**
 * Calls back once when the npm that has started this process is gone, by whatever end, as a supervisor or a container of
 * one process would have it. Only for this repository's own scripts: what another package's script has put into the
 * background is meant to outlive its npm. With `nohup npm start &` npm lives as long as we do.
 *
 * @param {string} root
 * @param {() => void} act
 */
export function whenNpmIsGone(root, act) {
  const { npm_lifecycle_event: script, npm_package_json: owner } = process.env
  if (script === undefined || owner === undefined) return
  if (path.resolve(owner) !== path.join(root, 'package.json')) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    act()
  }, lookEveryMs)
  timer.unref()
}

/** Ends this process as SIGTERM does, unless it is on its way out already: a second signal would hurry it. */
export function stopInOrder() {
  // Who stops in order listens to this (src/platform/run/signals.ts, runWith and install.js).
  if (!process.emit('orphaned')) process.kill(process.pid, 'SIGTERM')
}
