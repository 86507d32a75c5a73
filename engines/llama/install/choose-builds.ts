/** The machine that an installation is for. */
export interface Machine {
  platform: string
  arch: string
  /** As the worker's look at the hardware tells it; empty without a GPU. */
  gpuVendor: string
}

const CPU: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'linux-arm': 'linux-armv7l',
}

/**
 * The builds of llama.cpp for a machine, or none. CPU is always among them: a replica may get no GPU. CUDA's build needs
 * the libraries of CUDA 13 on the machine, which a driver alone does not bring, so Vulkan's is there to fall back on.
 * They are large (180 MB and 70 MB), so nobody gets them who has no such GPU.
 */
export function chooseBuilds({ platform, arch, gpuVendor }: Machine): string[] | undefined {
  const cpu = CPU[`${platform}-${arch}`]
  if (cpu === undefined) return undefined
  if (cpu !== 'linux-x64') return [cpu]
  if (gpuVendor === 'nvidia') return [cpu, 'linux-x64-cuda', 'linux-x64-vulkan']
  return gpuVendor === 'amd' || gpuVendor === 'intel' ? [cpu, 'linux-x64-vulkan'] : [cpu]
}
