import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { importLibrary } from '../native/library.ts'
import { chooseBuilds, type Machine } from './choose-builds.ts'
import { lockFile } from './lock-file.ts'
import { LIBRARY_VERSION } from './pinned-packages.ts'
import { InstallError, runNpm } from './run-npm.ts'

/** The main file of an installation. It is created last, so its existence means that the installation is complete. */
export const LIBRARY_FILE = `llama-library-${LIBRARY_VERSION}.mjs`

const MODULE = `export * from 'node-llama-cpp'
export { Template } from '@huggingface/jinja'
`

/** Stops the packages' own scripts from building or downloading. */
const QUIET = { NODE_LLAMA_CPP_SKIP_DOWNLOAD: 'true', NODE_LLAMA_CPP_POSTINSTALL: 'skip' }
const FLAGS = ['--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund', '--no-update-notifier']
const TELL_EVERY = 10

/** Installs the library into an empty folder and tests it. Returns the file for `--library`. */
export async function installLibrary(
  folder: string,
  machine: Machine,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<string> {
  const builds = chooseBuilds(machine)
  if (!builds) {
    const fix = 'Use the engine llama-server there: flotilla engines install llama-server'
    throw new InstallError(`There is no build of llama.cpp for ${machine.platform}-${machine.arch}. ${fix}`)
  }
  const { manifest, lock, count } = lockFile(builds)
  writeFileSync(join(folder, 'package.json'), manifest)
  writeFileSync(join(folder, 'package-lock.json'), lock)
  say(`fetching node-llama-cpp ${LIBRARY_VERSION} with ${builds.join(', ')}: ${count} packages`)
  let fetched = 0
  await runNpm({
    args: ['ci', ...FLAGS],
    folder,
    env: { ...env, ...QUIET },
    onFetched() {
      fetched += 1
      if (fetched % TELL_EVERY === 0) say(`fetched ${fetched} of ${count} packages`)
    },
  })
  const file = join(folder, LIBRARY_FILE)
  writeFileSync(file, MODULE)
  say('trying it out')
  try {
    await tryOut(file)
  } catch (error) {
    rmSync(file, { force: true })
    throw error
  }
  // The worker only recognizes executable files as programs.
  chmodSync(file, 0o755)
  return file
}

async function tryOut(file: string): Promise<void> {
  try {
    const { getLlama } = await importLibrary(file)
    await getLlama({
      gpu: false,
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      maxThreads: 1,
      logLevel: 'warn',
      logger: () => {},
    })
  } catch (error) {
    const [why] = (error instanceof Error ? error.message : String(error)).split('\n')
    throw new InstallError(`The engine is installed, but does not run on this machine: ${why}`)
  }
}
