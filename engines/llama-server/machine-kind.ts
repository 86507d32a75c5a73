import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { arch, cpus, platform } from 'node:os'
import type { Source } from './source.ts'

/**
 * A folder name for all machines that one build serves: the same source and flags, the same processor instructions, the
 * same GPUs and the same C library.
 */
export function machineKind({ version, sha256 }: Source, flags: readonly string[]): string {
  const facts = { sha256, flags, instructions: instructions(), gpus: gpus(), libc: libc() }
  const digest = createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 16)
  return `${version}-${platform()}-${arch()}-${digest}`
}

/** The processor's model stands in for its instructions where they are not listed. */
function instructions(): string {
  try {
    const [, list] = /^(?:flags|Features)\s*:\s*(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8')) ?? []
    if (list !== undefined) return list.split(' ').toSorted().join(' ')
  } catch {
    // Not Linux.
  }
  return cpus()[0]?.model ?? ''
}

/** Code is compiled only for the GPUs of this machine. */
function gpus(): string[] {
  const files = globSync('/proc/driver/nvidia/gpus/*/information')
  const models = files.flatMap((file) => /^Model:\s*(.*)$/m.exec(readFileSync(file, 'utf8'))?.[1] ?? [])
  return [...new Set(models)].toSorted()
}

function libc(): string {
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } }
  return header?.glibcVersionRuntime ?? 'other'
}
