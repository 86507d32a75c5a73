import type { TestProject } from 'vitest/node'
import { startPostgresServer } from './postgres-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A server on which databases may be created; see createTestDatabase. */
    postgresUrl: string
  }
}

/** Once per vitest project: the server that was named, or one of our own. Never skipped: no PostgreSQL fails the run. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env['FLOTILLA_TEST_DATABASE_URL']
  if (given) {
    project.provide('postgresUrl', given)
    return undefined
  }
  const server = await startPostgresServer()
  project.provide('postgresUrl', server.url)
  return () => server.stop()
}
