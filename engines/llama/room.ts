import { statSync } from 'node:fs'
import type { LlamaModel } from './native/library.ts'
import { LoadError } from './native/load-error.ts'

/**
 * The library looks at the memory of GPUs only. A model that is larger than what is free would be read from the disk again
 * and again for each token, or take the machine's memory until something is killed.
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
  // Without what computing takes: that guess is far too high. The library's newer estimate would make the context.
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

/** Of all its parts, where a model is split. One that is missing is missed by llama.cpp, which says so. */
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
