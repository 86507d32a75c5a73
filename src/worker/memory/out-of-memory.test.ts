import { describe, expect, test } from 'vitest'
import { memoryComplaint, whyOutOfMemory, type Ending } from './out-of-memory.ts'

function anEnding(fields: Partial<Ending> = {}): Ending {
  return { code: 1, signal: null, memoryLine: undefined, hasKernelKilled: false, ...fields }
}

test.each([
  'ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4403.49 MiB on device 0: cudaMalloc failed: out of memory',
  'CUDA error: out of memory',
  'ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 1048576',
  'llama_model_load: error loading model: unable to allocate ROCm0 buffer',
  'llama_kv_cache_init: failed to allocate buffer for kv cache',
  'ggml_vulkan: Device memory allocation of size 1073741824 failed.: vk::Device::allocateMemory: ErrorOutOfDeviceMemory',
  'error: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)',
  'hipErrorOutOfMemory: HIP out of memory. Tried to allocate 2.00 GiB',
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB. GPU 0 has a total capacity of 23.68 GiB',
  'torch.cuda.OutOfMemoryError: CUDA out of memory.',
  'ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing',
  'ValueError: Free memory on device (9.1/23.6 GiB) on startup is less than desired GPU memory utilization (0.9, 21.3 GiB)',
  'ValueError: 8.0 GiB KV cache is needed, which is larger than the available KV cache memory (3.2 GiB)',
  'RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.',
  'DriverError(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")',
  'Error: model requires more system memory (5.6 GiB) than is available (3.1 GiB)',
  'RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`',
  "terminate called after throwing an instance of 'std::bad_alloc'",
  'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory',
  'numpy.core._exceptions._ArrayMemoryError: Unable to allocate 3.00 GiB for an array',
  'MemoryError',
  'OSError: [Errno 12] Cannot allocate memory',
  'Cannot start llama-server: spawn ENOMEM.',
])('a complaint about memory: %s', (line) => {
  expect(memoryComplaint(`  ${line}\n`)).toBe(line)
})

test.each([
  'llm_load_tensors: offloaded 33/33 layers to GPU',
  'warning: failed to mlock 524288000-byte buffer (after previously locking 0 bytes): Cannot allocate memory',
  'main: server is listening on http://127.0.0.1:20001',
  'memory usage: 3.2 GiB',
  'error: unable to open model file',
  'ValueError: out of range',
])('no complaint about memory: %s', (line) => {
  expect(memoryComplaint(line)).toBeUndefined()
})

test('a long line is cut', () => {
  expect(memoryComplaint(`CUDA out of memory ${'x'.repeat(10_000)}`)).toHaveLength(501)
})

describe('an engine failed for want of memory', () => {
  test('when it says so', () => {
    const why = whyOutOfMemory(anEnding({ memoryLine: 'CUDA error: out of memory' }))
    expect(why).toBe('The engine ran out of memory: CUDA error: out of memory')
  })

  test.each([
    { signal: 'SIGKILL', code: null },
    { signal: null, code: 137 },
    { signal: null, code: null },
  ])('when the kernel killed something meanwhile and it may be what was killed: %o', (how) => {
    expect(whyOutOfMemory(anEnding({ ...how, hasKernelKilled: true }))).toContain('out-of-memory killer')
    expect(whyOutOfMemory(anEnding({ ...how, hasKernelKilled: false }))).toBeUndefined()
    expect(whyOutOfMemory(anEnding({ ...how, hasKernelKilled: undefined }))).toBeUndefined()
  })

  test('not when it ended by itself, whatever the kernel has killed', () => {
    expect(whyOutOfMemory(anEnding({ code: 1, hasKernelKilled: true }))).toBeUndefined()
    expect(whyOutOfMemory(anEnding({ code: null, signal: 'SIGSEGV', hasKernelKilled: true }))).toBeUndefined()
  })
})
