import { availableParallelism, freemem } from 'node:os'
import { copyFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { BuildError } from './build-error.ts'
import { cachedBuild, keepBuild } from './build-cache.ts'
import { machineKind } from './machine-kind.ts'
import { runTool } from './run-tool.ts'
import { fetchSource, type Source } from './source.ts'
import { findCuda, findTools } from './tools.ts'

export interface Build {
  /** Where `llama-server` goes. Intermediate files are put there, too, and deleted at the end. */
  folder: string
  source: Source
  env: NodeJS.ProcessEnv
  say: (line: string) => void
}

const PROGRAM = 'llama-server'
/** The memory of one compiler process; more processes than fit would be killed. */
const COMPILER_BYTES = 1.5 * 1024 ** 3

/** Builds llama-server into a folder, or copies it from the cache. The program appears there complete or not at all. */
export async function buildLlamaServer({ folder, source, env, say }: Build): Promise<void> {
  const flags = flagsFor(findCuda(env))
  const kind = machineKind(source, flags)
  const cached = cachedBuild(kind, env)
  if (cached !== undefined && (await runs(cached, env))) {
    say('taken from the cache: a machine of this kind has built it before')
    return putInPlace(cached, folder)
  }
  const tools = findTools(env)
  const checkout = join(folder, 'source')
  const work = join(folder, 'work')
  try {
    await fetchSource(source, { checkout, tools, folder, env, say })
    say('configuring')
    const generator = tools.ninja === undefined ? [] : ['-G', 'Ninja', `-DCMAKE_MAKE_PROGRAM=${tools.ninja}`]
    await runTool({ argv: [tools.cmake, '-S', checkout, '-B', work, ...generator, ...flags], folder, env })
    const jobs = Math.max(1, Math.min(availableParallelism(), Math.floor(freemem() / COMPILER_BYTES)))
    const argv = [tools.cmake, '--build', work, '--target', PROGRAM, '-j', String(jobs)] as const
    await runTool({ argv, folder, env, onLine: tellShare(say) })
    const built = join(work, 'bin', PROGRAM)
    if (!(await runs(built, env))) throw new BuildError('It was built, but it does not run: --version failed.')
    putInPlace(built, folder)
    keepBuild(kind, env, built)
  } finally {
    for (const path of [checkout, work]) rmSync(path, { recursive: true, force: true })
  }
}

/**
 * Builds a single static program for this machine's processor and GPUs. Parts that the defaults would download are left
 * out: the user interface, and models, which Flotilla fetches itself. With OpenMP, because without it two threads are
 * slower than one on small machines.
 */
function flagsFor(cuda: string | undefined): string[] {
  const on = ['GGML_NATIVE', 'GGML_OPENMP']
  const off = [
    'BUILD_SHARED_LIBS',
    'LLAMA_CURL',
    'LLAMA_OPENSSL',
    'LLAMA_BUILD_TESTS',
    'LLAMA_BUILD_EXAMPLES',
    'LLAMA_BUILD_UI',
    'LLAMA_USE_PREBUILT_UI',
  ]
  const gpu = cuda === undefined ? [] : ['-DGGML_CUDA=ON', `-DCMAKE_CUDA_COMPILER=${cuda}`]
  return [
    '-DCMAKE_BUILD_TYPE=Release',
    ...on.map((name) => `-D${name}=ON`),
    ...off.map((name) => `-D${name}=OFF`),
    ...gpu,
  ]
}

/** Ninja prints `[12/153] …`, make `[ 12%] …`: a line for each percent is enough. */
function tellShare(say: (line: string) => void): (line: string) => void {
  let told = -1
  return (line) => {
    const [, done, total, percent] = /^\[\s*(?:(\d+)\/(\d+)|(\d+)%)\]/.exec(line) ?? []
    const share = percent === undefined ? Math.floor((100 * Number(done)) / Number(total)) : Number(percent)
    if (!(share > told)) return
    told = share
    say(`compiling: ${share} %`)
  }
}

async function runs(program: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  try {
    await runTool({ argv: [program, '--version'], folder: undefined, env })
    return true
  } catch {
    return false
  }
}

function putInPlace(program: string, folder: string): void {
  const target = join(folder, PROGRAM)
  copyFileSync(program, `${target}.new`)
  renameSync(`${target}.new`, target)
}
