import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// The same as that of npm start; set here as well for who runs vitest by itself.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url))

/** Suffixes name what a test needs: `.test.ts` nothing, `.pg.test.ts` PostgreSQL, `.nats.test.ts` nats-server, `.e2e.ts` the whole program. */
export default defineConfig({
  test: {
    environment: 'node',
    pool: 'forks',
    // Most of the time goes by in waiting for processes: on two cores one at a time would leave one of them idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    setupFiles: 'src/testing/properties-setup.ts',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{src,test,sim}/**/*.test.ts', 'ui/src/**/*.test.{ts,tsx}'],
          exclude: ['**/*.pg.test.ts', '**/*.nats.test.ts'],
        },
      },
      {
        extends: true,
        test: { name: 'pg', include: ['src/**/*.pg.test.ts'], globalSetup: 'src/testing/postgres-setup.ts' },
      },
      { extends: true, test: { name: 'nats', include: ['src/**/*.nats.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/**/*.e2e.ts'],
          globalSetup: ['src/testing/postgres-setup.ts', 'src/testing/compile-cache-setup.ts'],
          testTimeout: 60_000,
        },
      },
    ],
  },
})
