import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeSelfSigned } from '../../src/platform/tls/self-signed.ts'
import type { Child } from './processes/child.ts'
import type { Options } from './options.ts'
import {
  canServe,
  directTo,
  encryptedNginx,
  startFlotilla,
  startHaproxy,
  startNginx,
  startNodeProxy,
  startPortkey,
  startTwoHops,
  startUndici,
  type Ground,
  type Side,
} from './sides.ts'

export const NAMES = [
  'direct',
  'nginx',
  'haproxy',
  'flotilla',
  'with keys and metrics',
  'two hops',
  'two hops, one core',
  'nginx, TLS',
  'flotilla, TLS',
  'undici',
  'database, 1 statement',
  'database, 12 statements',
  'portkey',
] as const
export type Name = (typeof NAMES)[number]
export type Sides = Record<'json' | 'stream', Map<Name, Side>>

/** Those that can be had here, by what they can do; of the others it is said why not. */
export async function startSides(
  given: Omit<Ground, 'certificate'>,
  upstream: Child,
  databaseUrls: readonly [string, string],
  options: Options,
): Promise<Sides> {
  const certificate = { cert: join(given.folder, 'tls.crt'), key: join(given.folder, 'tls.key') }
  const pair = makeSelfSigned(['127.0.0.1'], Date.now())
  writeFileSync(certificate.cert, pair.cert)
  writeFileSync(certificate.key, pair.key, { mode: 0o600 })
  const ground: Ground = { ...given, certificate }
  const { ports } = ground
  const database = (statements: string, url: string): Promise<Side> =>
    startNodeProxy('database-process.ts', [statements, url, ...ports.map(String)])
  const sides: Sides = { json: new Map(), stream: new Map() }
  const starts: Record<Name, () => Side | string | Promise<Side | string>> = {
    direct: () => directTo(ground, upstream),
    nginx: () => startNginx(ground),
    haproxy: () => startHaproxy(ground),
    flotilla: () => startFlotilla({ ports }),
    'with keys and metrics': () => startFlotilla({ ports, isCounted: true }),
    'two hops': () => startTwoHops(ports, false),
    'two hops, one core': () => startTwoHops(ports, true),
    'nginx, TLS': () => encryptedNginx(sides.json.get('nginx')),
    'flotilla, TLS': () => startFlotilla({ ports, certificate }),
    undici: () => startUndici(ground, options.withUndici),
    'database, 1 statement': () => database('one', databaseUrls[0]),
    'database, 12 statements': () => database('dozen', databaseUrls[1]),
    portkey: () => startPortkey(ground, options.withPortkey),
  }
  for (const name of NAMES) {
    const side = await starts[name]()
    if (typeof side === 'string') console.log(`${name}: ${side}`)
    else
      for (const kind of ['json', 'stream'] as const) {
        if (await canServe(side, kind)) sides[kind].set(name, side)
        else console.log(`${name}: not measured with ${kind}: it answers with an error here`)
      }
  }
  return sides
}
