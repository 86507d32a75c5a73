const MIB = 1024 * 1024

/** What llama.cpp prints when a model does not fit into the memory of its GPU. */
export function outOfMemoryLines(bytes: number): string {
  const size = (bytes / MIB).toFixed(2)
  return [
    `ggml_backend_cuda_buffer_type_alloc_buffer: allocating ${size} MiB on device 0: cudaMalloc failed: out of memory`,
    `alloc_tensor_range: failed to allocate CUDA0 buffer of size ${bytes}`,
    'llama_model_load: error loading model: unable to allocate CUDA0 buffer',
    'main: exiting due to model loading error',
    '',
  ].join('\n')
}
