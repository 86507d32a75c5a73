/**
 * Installs the library of the engine `llama` into the folder that the worker names, with one line on stdout for each step;
 * what goes wrong is one line on stderr and exit code 1.
 */
import { say } from '../../lib/process.ts'
import { installLibrary } from './install-library.ts'
import { InstallError } from './run-npm.ts'

const folder = process.env['FLOTILLA_ENGINE_FOLDER'] ?? process.cwd()
const machine = {
  platform: process.platform,
  arch: process.arch,
  gpuVendor: process.env['FLOTILLA_GPU_VENDOR'] ?? '',
}

try {
  await installLibrary(folder, machine, process.env, (line) => say(1, `${line}\n`))
  // The library keeps threads of its own.
  process.exit(0)
} catch (error) {
  if (!(error instanceof InstallError)) throw error
  say(2, `${error.message}\n`)
  process.exit(1)
}
