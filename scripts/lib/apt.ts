import fs from 'node:fs'
import path from 'node:path'
import { runChild, type Ended } from './child.ts'

/** Debian, Ubuntu and the like, as root: the container or the machine of a CI, not somebody's desk. */
export function canInstall(): boolean {
  return process.getuid?.() === 0 && fs.existsSync('/usr/bin/apt-get') && fs.existsSync('/etc/debian_version')
}

/** Installs Debian packages without starting any service. Tries twice: mirrors are busy at times. */
export async function installPackages(packages: readonly string[]): Promise<void> {
  const startedMs = performance.now()
  console.log(`Installing ${packages.join(', ')} with apt-get...`)
  keepFromMakingCluster()
  const allowServices = forbidServices()
  try {
    let last = await updateAndInstall(packages)
    if (last.code !== 0) last = await updateAndInstall(packages)
    const seconds = Math.round((performance.now() - startedMs) / 1000)
    if (last.code === 0) console.log(`Installed in ${seconds} s.`)
    else console.log(`${last.output.trimEnd()}\napt-get failed twice (exit code ${last.code}, ${seconds} s).`)
  } finally {
    allowServices()
  }
}

async function updateAndInstall(packages: readonly string[]): Promise<Ended> {
  // An old list of packages may still be enough to install, so a failed update is not the end.
  const update = await apt(['update'])
  const install = await apt(['install', '-y', '--no-install-recommends', ...packages])
  return { code: install.code, output: update.code === 0 ? install.output : update.output + install.output }
}

function apt(args: readonly string[]): Promise<Ended> {
  // Keeping changed configuration files is what makes the answer to every question "no".
  const options = ['-q', '-o', 'DPkg::Lock::Timeout=120', '-o', 'Dpkg::Options::=--force-confold']
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', UCF_FORCE_CONFFOLD: '1' }
  return runChild('apt-get', [...options, ...args], { env })
}

/** PostgreSQL's package makes and starts a cluster on port 5432 unless this says no; the tests make their own. */
function keepFromMakingCluster(): void {
  writeIfAbsent('/etc/postgresql-common/createcluster.conf', 'create_main_cluster = false\n')
}

/** Debian's way to say "start nothing" while packages are installed; nats-server would take port 4222. */
function forbidServices(): () => void {
  const file = '/usr/sbin/policy-rc.d'
  if (!writeIfAbsent(file, '#!/bin/sh\nexit 101\n')) return () => {}
  fs.chmodSync(file, 0o755)
  const allow = (): void => fs.rmSync(file, { force: true })
  process.once('exit', allow)
  return allow
}

function writeIfAbsent(file: string, text: string): boolean {
  if (fs.existsSync(file)) return false
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, text)
  return true
}
