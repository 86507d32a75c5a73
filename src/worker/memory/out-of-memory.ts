/** What is known of an engine's failure, as far as memory may be the reason. */
export interface Ending {
  code: number | null
  signal: string | null
  /** The line in which the engine complained about memory, if it did. */
  memoryLine: string | undefined
  /** Whether the kernel has killed a process for lack of memory since the engine was started; undefined: unknown. */
  hasKernelKilled: boolean | undefined
}

/** The exit code of a shell whose command was killed by SIGKILL. */
const KILLED_CODE = 137

/** The start of the error of an engine that ran out of memory; undefined when nothing indicates that it did. */
export function whyOutOfMemory({ code, signal, memoryLine, hasKernelKilled }: Ending): string | undefined {
  if (memoryLine !== undefined) return `The engine ran out of memory: ${memoryLine}`
  // The exit code of an adopted engine, which an earlier run of the worker started, is unknown.
  const mayBeKilled = signal === 'SIGKILL' || code === KILLED_CODE || (code === null && signal === null)
  if (!mayBeKilled || hasKernelKilled !== true) return undefined
  return "The machine ran out of memory: the kernel's out-of-memory killer ended the engine."
}

const LONGEST_LINE = 500

/**
 * The line, cut to the length of an error, if an engine complains about memory in it. By itself it proves nothing: some
 * engines try again with less. It is the reason only if a failure follows soon after.
 */
export function memoryComplaint(line: string): string | undefined {
  if (!COMPLAINTS.test(line) || HARMLESS.test(line)) return undefined
  const text = line.trim()
  return text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text
}

/** Messages by program. One expression checks every line that an engine prints. */
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
    // llama.cpp and whisper.cpp, on any device
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

/** llama.cpp could not lock the model in RAM, because of a ulimit; it continues without. */
const HARMLESS = /failed to mlock/i
