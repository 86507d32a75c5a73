import { onTestFinished } from 'vitest'
import { formatAddress } from '../../../src/platform/address.ts'
import { startHttpServer, type Handler, type HttpServerOptions } from '../../../src/http/server.ts'
import { silentLogger } from '../../../src/platform/run/log.ts'

/** A real HTTP server on a free loopback port, for as long as the test runs. Returns its URL. */
export async function serve(handler: Handler, options: Partial<HttpServerOptions> = {}): Promise<string> {
  const listen = { host: '127.0.0.1', port: 0 }
  const fixed = { listen, purpose: 'a test', flag: '--none', handler, log: silentLogger }
  const server = await startHttpServer({ ...fixed, ...options })
  onTestFinished(() => server.dispose(0))
  return `${options.tls ? 'https' : 'http'}://${formatAddress(server.address)}`
}
