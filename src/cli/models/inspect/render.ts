import { defaultContext } from '../../../core/memory/default-context.ts'
import { formatBytes } from '../../../core/lib/bytes.ts'
import type { Description } from '../../../model-files/header/describe.ts'
import type { View } from '../../client.ts'
import { facts, type Fact } from '../../facts.ts'
import { counted } from '../../terminal/format.ts'
import { table } from '../../terminal/table.ts'
import { plain, truncate } from '../../terminal/text-width.ts'
import { memoryByContext, USUAL_PARALLEL } from './memory-by-context.ts'

type Described = Extract<Description, { header: unknown }>

const INDENT = 2
/** The beginning of a template shows which family it is; --json has all of it. */
const MOST_TEMPLATE = 120

/** What is known of a model, for a person. */
export function renderDescription(found: Described, wanted: string, look: Pick<View, 'width' | 'paint'>): string[] {
  const { header, files, fileBytes, tensors, tensorBytes, projectors } = found
  const view = { ...look, nowMs: 0, sameCluster: '' }
  const about: Fact[] = [
    ['Is', kinds[found.kind]],
    ['Name', ...(found.name === null ? [] : [found.name])],
    ['Format', [header.format, header.architecture, ...(header.quantisation ? [header.quantisation] : [])].join(', ')],
    ['Files', [counted(files, 'file'), ...(fileBytes === null ? [] : [formatBytes(fileBytes)])].join(', ')],
    ['Tensors', `${tensors === null ? '' : `${tensors}, `}${formatBytes(tensorBytes)}`],
    ['Layers', ...layerTexts(found)],
    ['Context', ...contextTexts(header.context)],
    ['Template', ...templateTexts(found)],
    ['Projector', ...projectors.map((path) => `${path}, beside it: --option mmproj=… of llama-server takes it`)],
  ]
  return [look.paint('bold', truncate(wanted, look.width)), ...facts(about, view), ...memoryLines(found, view)]
}

const kinds: Record<Described['kind'], string> = {
  model: 'a model',
  projector: 'a projector: it lets a model see or hear, and is nothing by itself',
  adapter: 'an adapter (LoRA): it changes a model, and is nothing by itself',
}

function layerTexts({ header, heads, keyValueHeads }: Described): string[] {
  if (header.layers === 0) return []
  const ofHeads =
    heads === null
      ? ''
      : `, ${counted(heads, 'head')}${keyValueHeads === heads ? '' : ` (${keyValueHeads} for keys and values)`}`
  return [`${header.layers}${ofHeads}, embedding of ${header.embedding}, vocabulary of ${header.vocabulary}`]
}

function contextTexts(trained: number): string[] {
  if (trained === 0) return []
  const usual = defaultContext(trained)
  const more = usual === trained ? '' : `; models add takes ${usual} unless --context says otherwise`
  return [`trained for ${counted(trained, 'token')}${more}`]
}

function templateTexts({ kind, chatTemplate }: Described): string[] {
  if (kind !== 'model') return []
  return [chatTemplate === null ? 'none in its file' : truncate(plain(chatTemplate), MOST_TEMPLATE)]
}

function memoryLines(found: Described, view: View): string[] {
  const rows = memoryByContext(found)
  if (rows.length === 0) return []
  return [
    '',
    view.paint('bold', `Memory of one replica with ${counted(USUAL_PARALLEL, 'request')} at a time, estimated`),
    ...table(
      [
        { title: 'CONTEXT', align: 'right' },
        { title: 'GPU: VRAM', align: 'right' },
        { title: 'AND RAM', align: 'right' },
        { title: 'CPU: RAM', align: 'right' },
      ],
      rows.map(({ context, gpu, cpu }) => [
        String(context),
        formatBytes(gpu.vram),
        formatBytes(gpu.ram),
        formatBytes(cpu.ram),
      ]),
      { ...view, indent: INDENT },
    ),
  ]
}
