import { fileURLToPath } from 'node:url'
import { engineProfile, type EngineProfile, type EngineProfileInput } from '../../api/engine-profile.ts'

/** The path of one of Flotilla's programs, in the source tree or in a build, depending on where this file is. */
const ourProgram = (path: string): string =>
  fileURLToPath(new URL(`../../../engines/${path}${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url))

/** Makes device numbers mean what nvidia-smi shows; by default CUDA counts the fastest device first. */
const gpus = {
  CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
  CUDA_VISIBLE_DEVICES: '{{devices}}',
  HIP_VISIBLE_DEVICES: '{{devices}}',
  ZE_AFFINITY_MASK: '{{devices}}',
}

const MIB = 1024 * 1024

const text = ['/v1/chat/completions', '/v1/completions', '/v1/models']

const inputs: EngineProfileInput[] = [
  {
    name: 'sim',
    description: 'Simulated engine for demos and tests: answers like a language model, needs none',
    command: [
      process.execPath,
      '--max-semi-space-size=1',
      ourProgram('sim/main'),
      '--port',
      '{{port}}',
      '--model',
      '{{model}}',
      ['--parallel={{parallel}}'],
      ['--context={{context}}'],
    ],
    model: 'none',
    option_names: [
      'load_ms',
      'ttft_ms',
      'prefill_tokens_per_s',
      'tokens_per_s',
      'queue',
      'out_of_memory_above',
      'prefix_cache_tokens',
      'seed',
      'fault',
    ],
    ready: { http: '/health' },
    // Measurements must never replace its figure: it does not really allocate what `memory_bytes` declares.
    memory: 'on_demand',
    uses: { device: 'cpu', bytes: 96 * MIB, bytes_option: 'memory_bytes' },
    serves: [...text, '/v1/embeddings'],
    serves_no_other: true,
    parallel: 4,
  },
  {
    name: 'command',
    description: 'Any program: the option "command" is a shell line that serves on {{port}}',
    command: ['/bin/sh', '-c', '{{command}}'],
    shell_option: 'command',
    option_names: [],
    env: {
      ...gpus,
      FLOTILLA_HOST: '{{host}}',
      FLOTILLA_PORT: '{{port}}',
      FLOTILLA_MODEL: '{{model}}',
      FLOTILLA_MODEL_PATH: '{{model_path}}',
      FLOTILLA_SOURCE: '{{source}}',
      FLOTILLA_CONTEXT: '{{context}}',
      FLOTILLA_PARALLEL: '{{parallel}}',
      FLOTILLA_DEVICES: '{{devices}}',
    },
    options: 'none',
    ready: { port: true },
    memory: 'on_demand',
    uses: { device: 'either' },
    serves: [
      ...text,
      '/v1/responses',
      '/v1/messages',
      '/v1/embeddings',
      '/v1/rerank',
      '/v1/audio/transcriptions',
      '/v1/audio/translations',
      '/v1/audio/speech',
      '/v1/images/generations',
    ],
  },
  {
    name: 'llama',
    description: 'llama.cpp in a process of ours: GGUF files on CPU and GPU, installed by itself',
    // Only the library is installed; the program around it is part of Flotilla. The name contains the version, so that
    // a library installed for an earlier Flotilla is not used for this one.
    program: 'llama-library-3.22.1.mjs',
    command: [
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      // Its young objects live for a token or for the answer: a larger semi-space would be memory that is never used.
      '--max-semi-space-size=1',
      ourProgram('llama/main'),
      '--library={{program}}',
      '--host={{host}}',
      '--port={{port}}',
      '--model={{model_path}}',
      '--alias={{model}}',
      ['--context={{context}}'],
      ['--parallel={{parallel}}'],
    ],
    env: { ...gpus, GGML_VK_VISIBLE_DEVICES: '{{devices}}' },
    option_names: ['queue', 'threads', 'gpu', 'gpu_layers', 'batch', 'flash_attention', 'no_mmap'],
    ready: { http: '/health' },
    uses: { device: 'either' },
    serves: [...text, '/v1/embeddings', '/v1/rerank'],
    serves_no_other: true,
    parallel: 4,
    install: { command: [process.execPath, '--disable-warning=ExperimentalWarning', ourProgram('llama/install/main')] },
  },
  {
    name: 'llama-server',
    description: 'llama.cpp: GGUF files on CPU and GPU',
    // --ctx-size is shared by all slots. Without --parallel there are four slots on one cache.
    command: [
      'llama-server',
      '--host',
      '{{host}}',
      '--port',
      '{{port}}',
      '--model',
      '{{model_path}}',
      '--alias',
      '{{model}}',
      ['--ctx-size', '{{context_total}}'],
      ['--parallel', '{{parallel}}'],
    ],
    env: { ...gpus, GGML_VK_VISIBLE_DEVICES: '{{devices}}' },
    uses: { device: 'either' },
    // The program's parser does not know `--name=value`.
    options: 'pairs',
    ready: { http: '/health' },
    serves: [...text, '/v1/responses', '/v1/messages', '/v1/embeddings', '/v1/rerank', '/tokenize', '/detokenize'],
    parallel: 4,
    // Builds from source, which takes minutes and needs a compiler.
    install: { command: [process.execPath, '--disable-warning=ExperimentalWarning', ourProgram('llama-server/main')] },
    install_when: 'asked',
  },
  {
    name: 'vllm',
    description: 'vLLM: Hugging Face models on GPUs',
    command: [
      'vllm',
      'serve',
      '{{model_path}}',
      '--served-model-name={{model}}',
      '--host={{host}}',
      '--port={{port}}',
      ['--max-model-len={{context}}'],
      ['--max-num-seqs={{parallel}}'],
    ],
    env: gpus,
    ready: { http: '/health' },
    // Compiling and capturing graphs prints nothing for minutes.
    ready_within_s: 300,
    stop: { kill_after_s: 30 },
    memory: 'preallocated',
    uses: {
      device: 'gpu',
      share: { option: 'gpu_memory_utilization', default: 0.9 },
      devices_option: 'tensor_parallel_size',
    },
    serves: [
      ...text,
      '/v1/responses',
      '/v1/messages',
      '/v1/embeddings',
      '/v1/rerank',
      '/v1/score',
      '/v1/audio/transcriptions',
      '/v1/audio/translations',
      '/tokenize',
      '/detokenize',
    ],
    parallel: 256,
  },
  {
    name: 'sglang',
    description: 'SGLang: Hugging Face models on GPUs',
    // Not `python3 -m sglang.launch_server`, which takes the same flags: every machine has a python3, so a node without
    // SGLang would look like one with it.
    command: [
      'sglang',
      'serve',
      '--model-path={{model_path}}',
      '--served-model-name={{model}}',
      '--host={{host}}',
      '--port={{port}}',
      ['--context-length={{context}}'],
      ['--max-running-requests={{parallel}}'],
    ],
    env: gpus,
    ready: { http: '/health' },
    ready_within_s: 300,
    stop: { kill_after_s: 30 },
    memory: 'preallocated',
    // By default it takes at most 0.9, and less on small cards and over several.
    uses: { device: 'gpu', share: { option: 'mem_fraction_static', default: 0.9 }, devices_option: 'tp_size' },
    serves: [...text, '/v1/responses', '/v1/messages', '/v1/embeddings', '/v1/rerank', '/v1/score', '/generate'],
    parallel: 256,
  },
  {
    name: 'whisper-server',
    description: 'whisper.cpp: speech to text',
    command: [
      'whisper-server',
      '--host',
      '{{host}}',
      '--port',
      '{{port}}',
      '--model',
      '{{model_path}}',
      '--inference-path',
      '/v1/audio/transcriptions',
    ],
    env: { ...gpus, GGML_VK_VISIBLE_DEVICES: '{{devices}}' },
    options: 'pairs',
    ready: { http: '/health' },
    uses: { device: 'either' },
    serves: ['/v1/audio/transcriptions'],
  },
  {
    name: 'text-embeddings-inference',
    description: 'Text Embeddings Inference: embeddings and reranking',
    // Flags that Flotilla owns are given even where the default would do: the program reads PORT, HOSTNAME and others
    // from the environment. Two replicas must not share the socket.
    command: [
      'text-embeddings-router',
      '--model-id={{model_path}}',
      '--served-model-name={{model}}',
      '--hostname={{host}}',
      '--port={{port}}',
      '--uds-path=/tmp/flotilla-tei-{{port}}',
      ['--max-concurrent-requests={{parallel}}'],
    ],
    env: gpus,
    ready: { http: '/health' },
    uses: { device: 'either' },
    serves: ['/v1/embeddings', '/embed', '/embed_sparse', '/rerank', '/predict', '/similarity', '/tokenize'],
    parallel: 512,
  },
  {
    name: 'mlx-lm',
    description: 'MLX: language models on Apple silicon',
    command: [
      'mlx_lm.server',
      '--model={{model_path}}',
      '--host={{host}}',
      '--port={{port}}',
      ['--decode-concurrency={{parallel}}'],
    ],
    // Any other name makes the engine fetch a model of that name.
    request_model: 'default_model',
    ready: { http: '/health' },
    memory: 'on_demand',
    uses: { device: 'gpu' },
    serves: text,
    parallel: 32,
  },
  {
    name: 'ollama',
    description: 'Ollama: fetches models by itself, from the source "ollama:name"',
    program: 'ollama',
    // Starts the server, fetches the model, loads it and prints that it is ready. Embedding models cannot be run with a
    // prompt; that is not a failure. The shell waits for the server, so it stops as gracefully as the server does.
    command: [
      '/bin/sh',
      '-c',
      [
        '"$1" serve & server=$!',
        "trap 'kill -TERM $server 2>/dev/null; wait $server; exit' TERM INT",
        'until "$1" list >/dev/null 2>&1; do kill -0 $server 2>/dev/null || exit 1; sleep 0.2; done',
        '"$1" pull "$2" || { kill $server; wait $server; exit 1; }',
        '"$1" run "$2" "" </dev/null >/dev/null 2>&1',
        'echo "flotilla: the model is there"',
        'wait $server',
      ].join('\n'),
      'ollama',
      '{{program}}',
      '{{source_name}}',
    ],
    env: {
      ...gpus,
      OLLAMA_HOST: '{{host}}:{{port}}',
      OLLAMA_KEEP_ALIVE: '-1',
      OLLAMA_NUM_PARALLEL: '{{parallel}}',
      OLLAMA_CONTEXT_LENGTH: '{{context}}',
      // Replicas share one models folder: a start must not delete what another replica is fetching.
      OLLAMA_NOPRUNE: '1',
    },
    options: 'none',
    option_names: [],
    model: 'source',
    request_model: '{{source_name}}',
    ready: { log: '^flotilla: the model is there$' },
    ready_within_s: 600,
    uses: { device: 'either' },
    serves: [...text, '/v1/responses', '/v1/messages', '/v1/embeddings', '/api/chat', '/api/generate', '/api/embed'],
  },
]

/** The engines that every node knows, whether or not their programs are installed. */
export const builtInProfiles: readonly EngineProfile[] = inputs.map((input) => engineProfile.parse(input))
