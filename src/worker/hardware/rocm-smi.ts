import type { Found, Reading } from './hardware.ts'
import { asFields, parseLooseJson, textOf } from './loose-json.ts'
import { describeRan, type Tools } from './tools.ts'
import { wholeNumber } from './whole-number.ts'

const ROCM_SMI = ['rocm-smi', '/opt/rocm/bin/rocm-smi']
const ARGS = ['--showproductname', '--showuniqueid', '--showmeminfo', 'vram', '--json']

/**
 * For machines where sysfs is hidden. It does not report shared memory, so an APU shows what the BIOS reserves for it.
 */
export async function findWithRocmSmi(tools: Tools): Promise<Reading<Found[]>> {
  const ran = await tools.run(ROCM_SMI, ARGS)
  // Its exit code is ignored: it is not 0 when a card lacks a single one of the requested facts.
  const value = ran.kind === 'exited' ? parseRocmSmi(ran.stdout) : []
  return value.length > 0 ? { ok: true, value } : { ok: false, why: describeRan('rocm-smi', ran) }
}

/**
 * `{"card0": {"VRAM Total Memory (B)": "…", …}, "system": {…}}`; numbers are strings, names change between releases.
 */
export function parseRocmSmi(output: string): Found[] {
  const cards = Object.entries(asFields(parseLooseJson(output)) ?? {})
  return cards.flatMap(([key, value]) => {
    const index = wholeNumber(/^card(\d{1,4})$/.exec(key)?.[1])
    const fields = asFields(value)
    if (index === null || fields === null) return []
    const totalBytes = wholeNumber(textOf(fields, ['vram total memory (b)']))
    if (totalBytes === null || totalBytes === 0) return []
    const usedBytes = wholeNumber(textOf(fields, ['vram total used memory (b)', 'vram used memory (b)']))
    const uniqueId = textOf(fields, ['unique id'])?.replace(/^0x/i, '').toLowerCase()
    const name = textOf(fields, ['card series', 'device name', 'market name', 'card model', 'card sku']) ?? 'AMD GPU'
    return {
      index,
      uuid: uniqueId && /^(?!0+$)[0-9a-f]{1,32}$/.test(uniqueId) ? `GPU-${uniqueId}` : `amd-${index}`,
      name,
      totalBytes,
      freeBytes: usedBytes === null ? null : Math.max(0, totalBytes - usedBytes),
      shared: null,
    }
  })
}
