/**
 * How to tell a runtime that it may see no device, by the variable that holds its device list. Some runtimes take an
 * empty list for none; others take it for no list at all and see every device:
 * - CUDA and HIP stop at the first index that does not exist. CUDA would accept an empty list; HIP ignores one.
 * - Level Zero ignores an empty mask, and skips indexes that do not exist.
 * - ggml's Vulkan honours an empty list, and fails at an index that does not exist.
 */
const NONE: Readonly<Record<string, string>> = {
  CUDA_VISIBLE_DEVICES: '-1',
  HIP_VISIBLE_DEVICES: '-1',
  ZE_AFFINITY_MASK: '9999',
}

/** The value that means "no devices" for this variable. */
export function noDevicesIn(variable: string): string {
  return NONE[variable] ?? ''
}
