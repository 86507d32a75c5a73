import { statSync } from 'node:fs'
import type { LlamaModel } from './native/library.ts'
import { LoadError } from './native/load-error.ts'

/**
 * Checks the machine's memory, because the library checks only that of GPUs. A model larger than the free memory would
 * be read from the disk again for each token, or fill the memory until the kernel kills a process.
 */
export function checkRoomForModel(file: string, availableBytes: number): void {
  const bytes = sizeOf(file)
  if (bytes <= availableBytes) return
  const fix = 'Take a smaller or more quantised one, or a machine with more memory.'
  throw new LoadError(`out of memory: ${file} has ${mib(bytes)}, and ${mib(availableBytes)} are free. ${fix}`)
}

export function checkRoomForContext(
  { fileInsights, gpuLayers }: Pick<LlamaModel, 'fileInsights' | 'gpuLayers'>,
  contextSize: number,
  sequences: number,
  availableBytes: number,
): void {
  // Without the memory for computing: the library's old estimate of it is far too high, and its new one would create
  // the context.
  const need = fileInsights.estimateContextResourceRequirements({
    contextSize,
    sequences,
    modelGpuLayers: gpuLayers,
    includeGraphOverhead: false,
  })
  if (need.cpuRam <= availableBytes) return
  const what = `a context of ${sequences} x ${contextSize} tokens needs ${mib(need.cpuRam)}`
  throw new LoadError(`out of memory: ${what}, and ${mib(availableBytes)} are free. Give the model a smaller context.`)
}

/** The size of all parts of a split model. llama.cpp reports missing parts. */
function sizeOf(file: string): number {
  const [, start = file, count = '1'] = /^(.*-)\d{5}-of-(\d{5})\.gguf$/.exec(file) ?? []
  if (start === file) return statSync(file).size
  let bytes = 0
  for (let part = 1; part <= Number(count); part += 1) {
    const name = `${start}${String(part).padStart(5, '0')}-of-${count}.gguf`
    bytes += statSync(name, { throwIfNoEntry: false })?.size ?? 0
  }
  return bytes
}

function mib(bytes: number): string {
  return `${Math.ceil(bytes / 2 ** 20)} MiB`
}
