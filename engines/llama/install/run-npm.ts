import { spawn } from 'node:child_process'

/** Why an installation failed, as a message for the log. */
export class InstallError extends Error {}

export interface NpmRun {
  args: readonly string[]
  folder: string
  env: NodeJS.ProcessEnv
  /** A package has arrived. */
  onFetched: () => void
}

const MOST_COMPLAINTS = 3
const MOST_LINE_CHARS = 300

/** Runs npm to its end. URLs never leave this file: a registry's may contain a password. */
export async function runNpm({ args, folder, env, onFetched }: NpmRun): Promise<void> {
  const child = spawn('npm', [...args, '--loglevel=http', '--no-progress', '--color=false'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const complaints: string[] = []
  let rest = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = (lines.pop() ?? '').slice(0, MOST_LINE_CHARS)
    for (const line of lines) {
      // npm requests each package's description, and its archive.
      if (/^npm http .*GET 200 \S+\.tgz/.test(line)) onFetched()
      const [, complaint] = /^npm (?:error|ERR!) (?!A complete log|syscall|errno)(.+)/.exec(line) ?? []
      if (complaint !== undefined && complaints.length < MOST_COMPLAINTS) complaints.push(withoutAddresses(complaint))
    }
  })
  const { code, error } = await new Promise<{ code: number | null; error?: NodeJS.ErrnoException }>((resolve) => {
    child.once('error', (error) => resolve({ code: null, error }))
    child.once('close', (code) => resolve({ code }))
  })
  if (error?.code === 'ENOENT') {
    throw new InstallError(
      'npm is not in PATH. It comes with Node.js: put it into the PATH of the worker, and try again.',
    )
  }
  if (code === 0) return
  const why = error ? error.message : complaints.length > 0 ? complaints.join('; ') : `it ended with code ${code}`
  throw new InstallError(
    `npm could not fetch the packages of the engine: ${why}. Its registry is needed this once only.`,
  )
}

function withoutAddresses(line: string): string {
  return line.replaceAll(/\b\w+:\/\/\S+/g, '(address)').slice(0, MOST_LINE_CHARS)
}
