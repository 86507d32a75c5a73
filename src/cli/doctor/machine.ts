import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { formatBytes } from '../../core/lib/bytes.ts'
import { formatAddress, type Address } from '../../platform/address.ts'
import { messageOf } from '../../platform/errors.ts'
import { lowFileLimit, openFileLimit } from '../../platform/open-file-limit.ts'
import { version } from '../../platform/version.ts'
import { broken, note, ok, type Finding } from './finding.ts'

const GIB = 2 ** 30
/** Less is too little for a model, though enough for the database. */
const LITTLE_DISK_BYTES = 20 * GIB
const NO_DISK_BYTES = GIB
/** What `engines` in package.json says. */
const LEAST_NODE = [22, 18] as const
const TOOL_WITHIN_MS = 5000

export function lookAtProgram(nodeVersion = process.versions.node): Finding {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number)
  const isEnough = major > LEAST_NODE[0] || (major === LEAST_NODE[0] && minor >= LEAST_NODE[1])
  const text = `Flotilla ${version} on Node.js ${nodeVersion}, ${process.platform} ${process.arch}`
  if (isEnough) return ok('program', text)
  return broken('program', text, `Install Node.js ${LEAST_NODE.join('.')} or newer: https://nodejs.org`)
}

export function lookAtFolder(folder: string): Finding {
  // A missing folder is made at the first start, if its parent allows.
  const nearest = nearestOf(folder)
  try {
    accessSync(nearest, constants.W_OK)
  } catch {
    const fix = `Give it to the user that runs Flotilla (chown), or name another with --data <folder>.`
    return broken('data folder', `${nearest} cannot be written to`, fix)
  }
  if (nearest !== folder) return ok('data folder', `${folder} is not there yet; the first start makes it`)
  const isOpen = process.platform !== 'win32' && (statSync(folder).mode & 0o077) !== 0
  if (!isOpen) return ok('data folder', folder)
  return note('data folder', `${folder} can be read by others, and holds keys`, `chmod 700 ${folder}`)
}

export function lookAtDisk(folder: string): Finding {
  const { bavail, bsize, blocks } = statfsSync(nearestOf(folder))
  const free = bavail * bsize
  const text = `${formatBytes(free)} of ${formatBytes(blocks * bsize)} free for ${folder}`
  const fix = 'Make room, or put the data folder elsewhere with --data; --models-quota limits what models take.'
  if (free < NO_DISK_BYTES) return broken('disk', text, fix)
  return free < LITTLE_DISK_BYTES ? note('disk', text, fix) : ok('disk', text)
}

export function lookAtOpenFiles(limit = openFileLimit(), low = lowFileLimit()): Finding | undefined {
  if (low) return note('open files', low.text, low.advice)
  return limit === undefined ? undefined : ok('open files', `${limit} at once`)
}

/** GPUs that the system has, and the tool that Flotilla asks about each kind. */
const KINDS = [
  { vendor: 'NVIDIA', sign: '/proc/driver/nvidia', tool: 'nvidia-smi', args: ['-L'], from: 'the NVIDIA driver' },
  { vendor: 'AMD', sign: '/dev/kfd', tool: 'rocm-smi', args: ['--showid'], from: 'ROCm' },
  { vendor: 'Intel', sign: '/sys/module/xe', tool: 'xpu-smi', args: ['discovery'], from: 'the Intel XPU manager' },
] as const

export async function lookAtGpus(exists: (path: string) => boolean = existsSync, run = runTool): Promise<Finding[]> {
  const findings = await Promise.all(
    KINDS.map(async ({ vendor, sign, tool, args, from }): Promise<Finding | undefined> => {
      const { isThere, problem, lines } = await run(tool, args)
      const isSigned = exists(sign)
      if (isThere && problem === undefined) return ok('gpu', `${vendor}: ${tool} answers (${lines} lines)`)
      if (isThere) return broken('gpu', `${vendor}: ${tool} fails: ${problem}`, `Mend ${from}; reboot after an update.`)
      if (!isSigned) return undefined
      return broken('gpu', `${vendor}: there is a device (${sign}) and no ${tool}`, `Install ${from}.`)
    }),
  )
  const found = findings.filter((one) => one !== undefined)
  return found.length > 0 ? found : [ok('gpu', 'none found; engines run on the processor')]
}

function runTool(
  tool: string,
  args: readonly string[],
): Promise<{ isThere: boolean; problem?: string; lines: number }> {
  return new Promise((resolve) => {
    execFile(tool, [...args], { timeout: TOOL_WITHIN_MS }, (error, stdout) => {
      const lines = stdout.split('\n').filter((line) => line.trim() !== '').length
      if (!error) return resolve({ isThere: true, lines })
      const isThere = (error as NodeJS.ErrnoException).code !== 'ENOENT'
      resolve({ isThere, lines, problem: error.killed ? `no answer in ${TOOL_WITHIN_MS / 1000} s` : messageOf(error) })
    })
  })
}

/** Whether a port could be listened on. */
export async function lookAtPort(what: string, flag: string, address: Address): Promise<Finding> {
  const shown = formatAddress(address)
  if (address.port === 0) return ok(what, `any free port of ${address.host}`)
  const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    const server = createServer()
    server.once('error', resolve)
    server.listen({ ...address, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
  if (!error) return ok(what, `${shown} is free`)
  const why = { EADDRINUSE: 'is used by another program', EACCES: 'needs rights that this user lacks' }[
    error.code ?? ''
  ]
  const text = `${shown} ${why ?? `cannot be listened on (${error.code})`}`
  return note(
    what,
    text,
    `Choose another with ${flag} host:port, or end what uses it: ss -ltnp | grep :${address.port}`,
  )
}

function nearestOf(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearestOf(dirname(folder))
}
