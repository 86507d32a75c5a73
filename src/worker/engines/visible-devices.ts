/**
 * How runtimes are told that they may see no device at all, by the variable in which they look for a list. An empty list
 * means that to some, and the same as no list, so every device, to others:
 * - CUDA and HIP stop at the first index that does not exist. For CUDA an empty list would do; HIP takes it for none given.
 * - Level Zero takes an empty mask for none given as well, and passes over indexes that do not exist.
 * - ggml's Vulkan takes an empty list at its word and fails at an index that does not exist.
 */
const NONE: Readonly<Record<string, string>> = {
  CUDA_VISIBLE_DEVICES: '-1',
  HIP_VISIBLE_DEVICES: '-1',
  ZE_AFFINITY_MASK: '9999',
}

/** The value of an environment variable that names devices, when there is none to name. */
export function noDevicesIn(variable: string): string {
  return NONE[variable] ?? ''
}
