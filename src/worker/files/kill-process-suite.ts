import { systemClock } from '../../platform/run/clock.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { ModelFiles } from './model-files.ts'

// Run by a test as a process of its own, to be killed: `node kill-process-suite.ts <folder> <source>`. Prints how many bytes
// have arrived.

const [folder = '', source = ''] = process.argv.slice(2)
const files = await ModelFiles.open({
  folder,
  hfEndpoint: 'http://127.0.0.1:9',
  allowSources: ['127.0.0.1'],
  frontend: { locate: () => Promise.reject(new Error('there is no frontend')) },
  freeBytes: async () => ({ free: 2 ** 40, total: 2 ** 40 }),
  clock: systemClock,
  log: silentLogger,
})
await files.stage(
  { modelName: 'm', source, options: {} },
  {
    signal: new AbortController().signal,
    onProgress: ({ done_bytes: done }) => process.stdout.write(`${done}\n`),
  },
)
process.stdout.write('staged\n')
