import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// The same as that of npm start; set here as well for who runs vitest by itself.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url))

/** Short files that take long: they run suites that others hold. Begun last they would keep one core for themselves. */
const LONG = /\/(control\.pg|control|sim|database\.pg|watchdog)\.test\.ts$/

/** What takes longest begins first, also where no earlier run has left its times: end-to-end, then those above. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): number =>
      moduleId.endsWith('.e2e.ts') ? 0 : LONG.test(moduleId) ? 1 : 2
    // oxlint-disable-next-line unicorn/no-array-sort -- that of the class, not of an array
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b))
  }
}

/** Suffixes name what a test needs: `.test.ts` nothing, `.pg.test.ts` PostgreSQL, `.nats.test.ts` nats-server, `.e2e.ts` the whole program. */
export default defineConfig({
  test: {
    environment: 'node',
    pool: 'forks',
    // Most of the time goes by in waiting for processes: on two cores one at a time would leave one of them idle. Three at a
    // time take a minute less, and make processes start so slowly that tests about timing fail now and then.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    sequence: { sequencer: LongestFirst },
    setupFiles: 'test/support/properties-setup.ts',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{src,engines,test,sim,fuzz}/**/*.test.ts', 'ui/src/**/*.test.{ts,tsx}'],
          exclude: ['**/*.pg.test.ts', '**/*.nats.test.ts'],
        },
      },
      {
        extends: true,
        test: { name: 'pg', include: ['src/**/*.pg.test.ts'], globalSetup: 'test/support/postgres/postgres-setup.ts' },
      },
      { extends: true, test: { name: 'nats', include: ['src/**/*.nats.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/**/*.e2e.ts'],
          globalSetup: ['test/support/postgres/postgres-setup.ts', 'test/support/compile-cache-setup.ts'],
          testTimeout: 180_000,
        },
      },
    ],
  },
})
