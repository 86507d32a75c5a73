import type { LiveModel, LiveTraffic } from '../../../../src/api/admin/live-schemas.ts'
import type { ModelMemory } from './model-memory.ts'

export type ModelColumn = 'name' | 'state' | 'replicas' | 'memory' | 'rate' | 'latency' | 'engine' | 'source'

export interface ModelOrder {
  column: ModelColumn
  isDescending: boolean
}

export interface ModelLine {
  model: LiveModel
  memory: ModelMemory | undefined
  traffic: LiveTraffic['models'][string] | undefined
}

/** By name, engine or source. All words must be there. */
export function findModels(models: readonly LiveModel[], query: string): readonly LiveModel[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return models
  return models.filter(({ name, engine, source }) => {
    const text = `${name} ${engine} ${source ?? ''}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

/** Names decide between equals, whichever the direction. */
export function sortModels(lines: readonly ModelLine[], { column, isDescending }: ModelOrder): ModelLine[] {
  const sign = isDescending ? -1 : 1
  return lines.toSorted((a, b) => sign * compare(keyOf(a, column), keyOf(b, column)) || compareNames(a, b))
}

/** Once up, once down. */
export function nextOrder(order: ModelOrder, column: ModelColumn): ModelOrder {
  if (order.column === column) return { column, isDescending: !order.isDescending }
  // Of figures one looks for the largest first.
  return { column, isDescending: ['replicas', 'memory', 'rate', 'latency'].includes(column) }
}

/** What needs somebody first. */
const STATES: readonly LiveModel['state'][] = ['failed', 'starting', 'ready', 'stopped']

function keyOf({ model, memory, traffic }: ModelLine, column: ModelColumn): string | number {
  switch (column) {
    case 'name':
    case 'engine':
      return model[column]
    case 'source':
      return model.source ?? ''
    case 'state':
      return STATES.indexOf(model.state)
    case 'replicas':
      return model.ready_replicas
    case 'memory':
      return memory?.bytes ?? 0
    case 'rate':
      return traffic?.rate ?? 0
    case 'latency':
      return traffic?.latency_ms ?? 0
  }
}

const collator = new Intl.Collator('en', { numeric: true })

function compare(a: string | number, b: string | number): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b))
}

function compareNames(a: ModelLine, b: ModelLine): number {
  return collator.compare(a.model.name, b.model.name)
}
