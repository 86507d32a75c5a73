/** What is known of how an engine failed, as far as memory may have been the reason. */
export interface Ending {
  code: number | null
  signal: string | null
  /** The line in which it complained about memory, if it did. */
  memoryLine: string | undefined
  /** Whether the kernel has killed something for want of memory since the engine was started; undefined: it does not say. */
  hasKernelKilled: boolean | undefined
}

/** Shells end with this code when what they ran was killed by SIGKILL. */
const KILLED_CODE = 137

/** How the error of an engine that failed for want of memory begins; undefined when nothing says that it did. */
export function whyOutOfMemory({ code, signal, memoryLine, hasKernelKilled }: Ending): string | undefined {
  if (memoryLine !== undefined) return `The engine ran out of memory: ${memoryLine}`
  // Of an engine that an earlier run of the worker had started it is not known how it ended.
  const mayBeKilled = signal === 'SIGKILL' || code === KILLED_CODE || (code === null && signal === null)
  if (!mayBeKilled || hasKernelKilled !== true) return undefined
  return "The machine ran out of memory: the kernel's out-of-memory killer ended the engine."
}

const LONGEST_LINE = 500

/**
 * The line, cut to what an error can hold, if an engine complains about memory in it. It says nothing by itself: some
 * engines try again with less. Only together with a failure soon after is it the reason.
 */
export function memoryComplaint(line: string): string | undefined {
  if (!COMPLAINTS.test(line) || HARMLESS.test(line)) return undefined
  const text = line.trim()
  return text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text
}

/** Whose words they are. All are looked for at once, in every line that an engine prints. */
const COMPLAINTS = new RegExp(
  [
    // CUDA, HIP, torch, Node ("JavaScript heap out of memory"), Metal ("Insufficient Memory")
    'out of memory',
    'OutOfMemory',
    'OUT_OF_(HOST_|DEVICE_)?MEMORY',
    'insufficient memory',
    'cudaMalloc failed',
    'CUBLAS_STATUS_ALLOC_FAILED',
    // Vulkan
    'ErrorOutOf(Device|Host|Pool)Memory',
    'Requested buffer size exceeds device memory allocation limit',
    // llama.cpp and whisper.cpp, whatever the device
    'failed to allocate (?!a port)',
    'unable to allocate',
    // SYCL in llama.cpp
    "can't allocate \\d+ Bytes of memory",
    // vLLM
    'No available memory for the cache blocks',
    'is less than desired GPU memory utilization',
    'larger than the available KV cache memory',
    // SGLang
    'Not enough memory\\. Please try',
    // Ollama
    'model requires more (system|GPU) memory',
    // C++, Python, the C library, Node
    'std::bad_alloc',
    '\\bMemoryError\\b',
    'Cannot allocate memory',
    '\\bENOMEM\\b',
  ].join('|'),
  'i',
)

/** llama.cpp could not pin the model in RAM: a limit of the user's, and it goes on without. */
const HARMLESS = /failed to mlock/i
