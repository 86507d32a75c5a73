/**
 * The simulated engine as a process. Start it as
 *   NODE_COMPILE_CACHE=<folder> node --max-semi-space-size=1 main.ts --port 20000 --model my-model
 * Measured on Node 24: idle 52 MB resident, of which 12 MB its own, ready 50 ms after spawn. Without the cache every start
 * loads the TypeScript stripper: 80 MB, 110 ms. The small young generation saves 20 MB under load. Other V8 flags do not
 * pay: --optimize-for-size voids Node's own code cache (100 ms), --lite-mode cannot strip types.
 */
import { flushCompileCache } from '../lib/builtins.ts'
import { UsageError } from '../lib/flags.ts'
import { exitWithParent, say, stopOnSignals } from '../lib/process.ts'
import { steadyClock } from './clock.ts'
import { Engine } from './engine.ts'
import { Loading } from './loading.ts'
import { outOfMemoryLines } from './out-of-memory.ts'
import { help, parseOptions, type SimOptions } from './options.ts'
import { createSimServer } from './server.ts'

start()

function start(): void {
  try {
    const options = parseOptions([...fromEnvironment(), ...process.argv.slice(2)])
    if (options === 'help') return say(1, help)
    serve(options)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    say(2, `sim: ${error.message} (--help lists the options)\n`)
    process.exitCode = 2
  }
}

/**
 * Flags from the environment: the worker that starts it says how much memory its pretended devices have left. A real
 * flag wins, because the last one does.
 */
function fromEnvironment(): string[] {
  const above = process.env['SIM_OUT_OF_MEMORY_ABOVE']
  return above === undefined ? [] : [`--out-of-memory-above=${above}`]
}

function serve(options: SimOptions): void {
  const log = (line: string): void => say(1, `sim ${options.model}: ${line}\n`)
  // Tokens already written reach the client first: they leave in this turn of the event loop, the process after it.
  const crash = (exitCode: number): void => void setImmediate(() => process.exit(exitCode))
  if (options.fault) log(`fault set: ${JSON.stringify(options.fault)}`)
  const engine = new Engine(options, steadyClock, crash)
  const loading = new Loading(options.loadMs, steadyClock, log)
  const { server, drain } = createSimServer({ engine, loading, log })

  server.on('error', (error) => {
    say(2, `sim: cannot listen on 127.0.0.1:${options.port}: ${error.message}\n`)
    process.exit(1)
  })
  server.listen(options.port, '127.0.0.1', () => {
    const address = server.address()
    log(`listening on http://127.0.0.1:${typeof address === 'object' ? address?.port : options.port}`)
    if (options.memoryBytes > options.outOfMemoryAbove) {
      say(2, outOfMemoryLines(options.memoryBytes))
      process.exit(1)
    }
    loading.start()
    // Killed processes never save their compile cache, and engines are often killed. Does nothing where none is set.
    flushCompileCache()
  })

  stopOnSignals(drain, log)
  exitWithParent()
}
