/**
 * The engine `llama` as a process: llama.cpp, by the library node-llama-cpp, behind an OpenAI-style HTTP API. It
 * listens at once and reports the loading progress; if a model cannot be loaded, it prints the reason in one line on
 * stderr and ends with exit code 1.
 */
import { UsageError } from '../lib/flags.ts'
import { exitWithParent, say, stopOnSignals } from '../lib/process.ts'
import { createEngineServer, routeOf } from '../lib/server.ts'
import { LlamaEngine } from './engine.ts'
import { importLibrary } from './native/library.ts'
import { checkFile, LoadError, loadError } from './native/load-error.ts'
import { openModel, type OpenModel } from './native/open-model.ts'
import { useOneThread } from './native/one-thread.ts'
import { help, parseOptions, type LlamaEngineOptions } from './options.ts'
import { routesOf, type EngineState } from './routes.ts'

start()

function start(): void {
  try {
    const options = parseOptions(process.argv.slice(2), process.env)
    if (options === 'help') return say(1, help)
    serve(options)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    say(2, `llama: ${error.message} (--help lists the options)\n`)
    process.exitCode = 2
  }
}

function serve(options: LlamaEngineOptions): void {
  const log = (line: string): void => say(1, `llama ${options.alias}: ${line}\n`)
  const fail = (why: string): never => {
    say(2, `llama: ${why}\n`)
    process.exit(1)
  }
  const state: EngineState = { alias: options.alias, startedMs: Date.now(), progress: 0, engine: undefined }
  const routes = routesOf(state)
  const { server, drain } = createEngineServer(async (call) => routeOf(routes, call).answer(call), log)
  server.on('error', (error) => fail(`cannot listen on ${options.host}:${options.port}: ${error.message}`))
  server.listen(options.port, options.host, () => {
    const address = server.address()
    log(`listening on http://${options.host}:${typeof address === 'object' ? address?.port : options.port}`)
    load(options, state, log).catch((error: unknown) => fail(error instanceof Error ? error.message : String(error)))
  })
  stopOnSignals(drain, log)
  exitWithParent()
}

async function load(options: LlamaEngineOptions, state: EngineState, log: (line: string) => void): Promise<void> {
  const model = await open(options, (share) => {
    const step = Math.floor(share * 10)
    if (step > Math.floor(state.progress * 10)) log(`loading ${step * 10} %`)
    state.progress = Math.min(0.99, share)
  })
  const nowMs = (): number => performance.now()
  const randomSeed = (): number => Math.floor(Math.random() * 2 ** 32)
  state.engine = new LlamaEngine(options, model, nowMs, randomSeed)
  state.progress = 1
  const { contextTokens, threads, gpu } = model
  log(
    `ready: ${options.parallel} x ${contextTokens} tokens, ${threads} thread${threads === 1 ? '' : 's'}, ${gpu || 'CPU'}`,
  )
}

/** Lines of llama.cpp are passed on; the last ones contain the reason of a failure. */
const MOST_LINES = 50
const LAST_WORDS_MS = 200

async function open(options: LlamaEngineOptions, onProgress: (share: number) => void): Promise<OpenModel> {
  checkFile(options.modelFile)
  const isInOrder = await useOneThread()
  const library = await importLibrary(options.library).catch((error: unknown) => {
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error)
    const fix = 'Install the engine again: flotilla engines install llama'
    throw new LoadError(`the library of the engine cannot be loaded: ${why}. ${fix}`)
  })
  const lines: string[] = []
  const onLine = (level: string, text: string): void => {
    lines.push(...text.split('\n').filter((line) => line.trim() !== ''))
    lines.splice(0, lines.length - MOST_LINES)
    if (level === 'error' || level === 'fatal') say(2, `llama.cpp: ${text.trimEnd()}\n`)
  }
  try {
    return await openModel(library, options, isInOrder, { onProgress, onLine })
  } catch (error) {
    // llama.cpp's lines come from another thread, and the reason is among the last.
    await new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS))
    throw loadError(error, options.modelFile, lines)
  }
}
