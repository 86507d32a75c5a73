import { parseBytes } from '../../core/lib/bytes.ts'

/** Reads `12GiB`, which is VRAM, or `vram=12GiB,ram=2GiB`, one of them or both. Undefined for anything else. */
export function parseMemory(text: string): { vram: number; ram: number } | undefined {
  if (!text.includes('=')) return withSizes([['vram', text]])
  return withSizes(
    text.split(',').map((part): [string, string] => {
      const at = part.indexOf('=')
      return [part.slice(0, at).trim(), part.slice(at + 1)]
    }),
  )
}

function withSizes(parts: readonly [name: string, size: string][]): { vram: number; ram: number } | undefined {
  const memory = { vram: 0, ram: 0 }
  const seen = new Set<string>()
  for (const [name, size] of parts) {
    const bytes = parseBytes(size)
    if ((name !== 'vram' && name !== 'ram') || seen.has(name) || bytes === undefined) return undefined
    seen.add(name)
    memory[name] = bytes
  }
  return memory
}
