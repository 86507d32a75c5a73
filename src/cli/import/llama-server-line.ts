import { isAbsolute } from 'node:path'
import type { ImportedModel } from './imported.ts'

/** How llama-server writes the flags that people use most, in short. */
const LONG: Readonly<Record<string, string>> = {
  '-m': '--model',
  '-c': '--ctx-size',
  '-np': '--parallel',
  '-a': '--alias',
  '-hf': '--hf-repo',
  '-hfr': '--hf-repo',
  '-hff': '--hf-file',
  '-ngl': '--n-gpu-layers',
  '--gpu-layers': '--n-gpu-layers',
  '-t': '--threads',
  '-tb': '--threads-batch',
  '-b': '--batch-size',
  '-ub': '--ubatch-size',
  '-fa': '--flash-attn',
  '-ctk': '--cache-type-k',
  '-ctv': '--cache-type-v',
  '-ts': '--tensor-split',
  '-sm': '--split-mode',
  '-mg': '--main-gpu',
  '-md': '--model-draft',
  '-ncmoe': '--n-cpu-moe',
  '-ot': '--override-tensor',
}
/** Flags that Flotilla sets itself. */
const OURS: ReadonlySet<string> = new Set(['--host', '--port', '--alias', '--api-key', '--log-disable'])

type Value = string | number | boolean

/** The model's file and options in a command line of llama-server; undefined when it names no file. */
export function readLlamaServer(
  words: readonly string[],
): { model: Pick<ImportedModel, 'source' | 'options'>; notes: string[] } | undefined {
  const flags = flagsOf(words)
  const source = sourceOf(flags)
  if (source === undefined) return undefined
  const notes: string[] = []
  const options: Record<string, Value> = {}
  const parallel = Number(flags.get('--parallel') ?? 1)
  for (const [flag, value] of flags) {
    if (OURS.has(flag) || flag === '--model' || flag.startsWith('--hf-')) continue
    const name = flag.slice(2).replaceAll('-', '_')
    // llama-server's value covers all requests together, ours is for each one.
    if (flag === '--ctx-size') options['context'] = Math.floor(Number(value) / parallel)
    else if (name === 'mmproj' || name === 'model_draft') options[name] = fileSource(String(value))
    else options[name] = value
  }
  // 0 means the model's trained length, which is the default as well.
  if (options['context'] === 0) delete options['context']
  // A projector that is fetched with the model is one file more, which has to be named here.
  if (source.startsWith('hf:') && !source.endsWith('.gguf')) notes.push('name the file of the repository in its source')
  return { model: { source, ...(Object.keys(options).length > 0 ? { options } : {}) }, notes }
}

function flagsOf(words: readonly string[]): Map<string, Value> {
  const flags = new Map<string, Value>()
  for (let i = 0; i < words.length; i += 1) {
    const [word, joined] = /^(--[^=]+)=(.*)$/s.exec(words[i]!)?.slice(1) ?? [words[i]!, undefined]
    if (!word!.startsWith('-')) continue
    const next = words[i + 1]
    const isAlone = joined === undefined && (next === undefined || /^-\D/.test(next))
    if (joined === undefined && !isAlone) i += 1
    flags.set(LONG[word!] ?? word!, isAlone ? true : valueOf(joined ?? next!))
  }
  return flags
}

function valueOf(text: string): Value {
  return text !== '' && String(Number(text)) === text ? Number(text) : text
}

function sourceOf(flags: ReadonlyMap<string, Value>): string | undefined {
  const file = flags.get('--model')
  if (typeof file === 'string') return isAbsolute(file) ? fileSource(file) : undefined
  const repo = flags.get('--hf-repo')
  if (typeof repo !== 'string') return undefined
  const inside = flags.get('--hf-file')
  // llama-server uses the quantisation after the name to choose a file itself.
  const [name] = repo.split(':')
  return typeof inside === 'string' ? `hf:${name}/${inside}` : `hf:${name}`
}

function fileSource(path: string): string {
  return `file:${path}`
}
