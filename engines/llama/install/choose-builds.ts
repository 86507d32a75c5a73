/** The machine that an installation is for. */
export interface Machine {
  platform: string
  arch: string
  /** From the worker's hardware detection; empty without a GPU. */
  gpuVendor: string
}

const CPU: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'linux-arm': 'linux-armv7l',
}

/**
 * The builds of llama.cpp for a machine; undefined if there is none. CPU is always among them: a replica may get no
 * GPU. The CUDA build needs the libraries of CUDA 13 on the machine, which a driver alone does not bring, so the Vulkan
 * build is the fallback. Both are large (180 MB and 70 MB), so only machines with such a GPU get them.
 */
export function chooseBuilds({ platform, arch, gpuVendor }: Machine): string[] | undefined {
  const cpu = CPU[`${platform}-${arch}`]
  if (cpu === undefined) return undefined
  if (cpu !== 'linux-x64') return [cpu]
  if (gpuVendor === 'nvidia') return [cpu, 'linux-x64-cuda', 'linux-x64-vulkan']
  return gpuVendor === 'amd' || gpuVendor === 'intel' ? [cpu, 'linux-x64-vulkan'] : [cpu]
}
