import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Problem } from './problem.js'

const lookEveryMs = 200
const waitAtMostMs = 15 * 60_000

/**
 * Lets one process at a time do something to this copy of the repository: install, unless it is said what. The lock is a
 * file that names its holders by process id; when all of them are gone, the next one takes it over.
 *
 * @param {string} root
 */
export async function takeLock(root, { name = 'install', doing = "installing Flotilla's dependencies" } = {}) {
  const file = lockFileOf(root, name)
  let holders = [process.pid]
  const text = () => JSON.stringify({ host: os.hostname(), pids: holders })

  const deadlineMs = Date.now() + waitAtMostMs
  let hasSaid = false
  while (!(await tryTake(file, text()))) {
    if (!hasSaid) console.error(`Another process is ${doing} (${file}); waiting for it...`)
    hasSaid = true
    if (Date.now() > deadlineMs) {
      throw new Problem(
        `Waited ${waitAtMostMs / 60_000} minutes. If nothing is ${doing}, remove ${file} and try again.`,
      )
    }
    await sleep(lookEveryMs)
  }
  return {
    /** @param {number} pid */
    alsoHeldBy(pid) {
      holders = [...holders, pid]
      fs.writeFileSync(file, text())
    },
    release() {
      fs.rmSync(file, { force: true })
    },
  }
}

/** In .git, where it is nobody's untracked file; a work tree or an unpacked archive has no such folder. */
function lockFileOf(root, name) {
  const git = path.join(root, '.git')
  if (fs.existsSync(path.join(git, 'HEAD'))) return path.join(git, `flotilla-${name}.lock`)
  const key = createHash('sha256').update(fs.realpathSync(root)).digest('hex').slice(0, 16)
  return path.join(os.tmpdir(), `flotilla-${name}-${key}.lock`)
}

async function tryTake(file, text) {
  try {
    fs.writeFileSync(file, text, { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw new Problem(`Cannot write ${file}: ${error.message}`)
  }
  if (isHeld(file)) return false
  // Its holders are dead. Several may see that at once: all write, the last one to write has it, and each looks
  // again after long enough for the others to have written.
  const mine = `${file}.${process.pid}`
  fs.writeFileSync(mine, text)
  fs.renameSync(mine, file)
  await sleep(lookEveryMs)
  return readIfThere(file) === text
}

function isHeld(file) {
  const text = readIfThere(file)
  // Released a moment ago: the next look takes it.
  if (text === undefined) return true
  try {
    const { host, pids } = JSON.parse(text)
    // Process ids of another machine or container say nothing here; the wait has a limit.
    return host !== os.hostname() || pids.some(isAlive)
  } catch {
    // Made but not written yet, or its maker died in between.
    return Date.now() - (fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) < 5000
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function readIfThere(file) {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
