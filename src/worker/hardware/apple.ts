import type { Edge } from './edge.ts'
import type { Found, Reading } from './hardware.ts'
import { asFields, asList, parseLooseJson, textOf } from './loose-json.ts'

/**
 * The GPU of an Apple chip computes in the machine's RAM. Macs with Intel processors have no GPU that engines use. The
 * name cannot change while we run, and system_profiler takes up to a second: after the first answer it is asked rarely.
 */
export async function findApple({ system, tools, facts }: Edge): Promise<Reading<Found[]>> {
  const known = await facts.get('apple gpus', async () => {
    const ran = await tools.run(['system_profiler', '/usr/sbin/system_profiler'], ['SPDisplaysDataType', '-json'])
    return ran.kind === 'exited' ? parseDisplays(ran.stdout) : null
  })
  const names = known ?? (system.arch === 'arm64' ? ['Apple GPU'] : [])
  const shared = { mostBytes: Infinity, usedBytes: 0 }
  const value = names.map((name, index) => ({
    index,
    uuid: `apple-${index}`,
    name,
    totalBytes: 0,
    freeBytes: 0,
    shared,
  }))
  return { ok: true, value }
}

/** Names of the Apple GPUs; null when the output cannot be parsed. */
export function parseDisplays(output: string): string[] | null {
  const list = asFields(parseLooseJson(output))?.['SPDisplaysDataType']
  if (!Array.isArray(list)) return null
  const names = asList(list).flatMap((entry) => {
    const fields = asFields(entry)
    const name = fields === null ? null : (textOf(fields, ['sppci_model']) ?? textOf(fields, ['_name']))
    const vendor = fields === null ? null : textOf(fields, ['spdisplays_vendor'])
    return name !== null && (/^apple\b/i.test(name) || /apple/i.test(vendor ?? '')) ? name : []
  })
  // An Apple chip has one GPU: a headless Mac, or a screen listed as a second entry, does not make another.
  return names.slice(0, 1)
}
