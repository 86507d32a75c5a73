import type { ModelInput } from '../../api/admin/model-schemas.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** What is written into a document; what has a default may be left out. */
export interface ImportedDocument {
  models: ImportedModel[]
  rules: ImportedRule[]
  nodes: ImportedNode[]
}

export interface ImportedModel {
  name: string
  engine: string
  source?: string
  options?: ModelInput['options']
}

export interface ImportedRule {
  model_name: string
  [field: string]: unknown
}

export interface ImportedNode {
  name: string
  labels?: Record<string, string>
  max_replicas_per_model?: number
  vram_budget?: string
  drain?: boolean
}

/** What was found, converted to Flotilla's terms, and what could not be converted. */
export interface Imported {
  document: ImportedDocument
  /** Each a sentence for a person. */
  notes: string[]
}

/** The flags of an import. */
export interface ImportAsk {
  values: readonly string[]
  own: ReadonlyMap<string, string>
  env: Readonly<Record<string, string | undefined>>
  terminal: Pick<Terminal, 'note'>
}

export type Importer = (ask: ImportAsk) => Promise<Imported>

export function nothingImported(): Imported {
  return { document: { models: [], rules: [], nodes: [] }, notes: [] }
}

/** Of a model of Ollama's: `latest` is what a name without a tag means. */
export function shortName(name: string): string {
  return name.replace(/:latest$/, '')
}
