import type { z } from 'zod'
import type { ModelView, modelInput } from '../../../../src/api/admin/model-schemas.ts'
import { documentInput } from '../../../../src/api/admin/document.ts'
import { optionsOf, optionTexts } from './option-text.ts'

/** What is typed into the form of a model. Empty fields are left out. */
export interface ModelDraft {
  name: string
  engine: string
  source: string
  options: Readonly<Record<string, string>>
  vram: string
  ram: string
  antiAffinity: string
}

export type ModelBody = z.input<typeof modelInput>
export type ModelField = keyof ModelDraft

export const blankModel: ModelDraft = {
  name: '',
  engine: 'llama',
  source: '',
  options: {},
  vram: '',
  ram: '',
  antiAffinity: '',
}

export function draftOfModel(model: ModelView): ModelDraft {
  const { name, engine, source, options, memory, anti_affinity: antiAffinity } = model
  return {
    name,
    engine,
    source: source ?? '',
    options: optionTexts(options),
    vram: memory ? sizeText(memory.vram) : '',
    ram: memory ? sizeText(memory.ram) : '',
    antiAffinity: antiAffinity ?? '',
  }
}

export function bodyOfModel(draft: ModelDraft): ModelBody {
  const [vram, ram] = [draft.vram.trim(), draft.ram.trim()]
  return {
    name: draft.name.trim(),
    engine: draft.engine.trim(),
    source: draft.source.trim() === '' ? null : draft.source.trim(),
    options: optionsOf(draft.options),
    memory: vram === '' && ram === '' ? null : { vram: vram === '' ? 0 : vram, ram: ram === '' ? 0 : ram },
    anti_affinity: draft.antiAffinity.trim() === '' ? null : draft.antiAffinity.trim(),
  }
}

/** What is wrong, by field, in plain words; empty when it can be saved. */
export function mistakesOf(draft: ModelDraft): Partial<Record<ModelField, string>> {
  const { error } = documentInput.safeParse({ models: [bodyOfModel(draft)] })
  const found: Partial<Record<ModelField, string>> = {}
  for (const issue of error?.issues ?? []) {
    const [, , first, second] = issue.path.map(String)
    const field = first === 'memory' ? (second as 'vram' | 'ram') : (FIELDS[first ?? ''] ?? 'name')
    found[field] ??= `${first === 'options' && second !== undefined ? `${second}: ` : ''}${plainText(issue)}`
  }
  return found
}

const FIELDS: Readonly<Record<string, ModelField>> = {
  name: 'name',
  engine: 'engine',
  source: 'source',
  options: 'options',
  anti_affinity: 'antiAffinity',
}

/** Where the contract has no words of its own, ours. */
function plainText(issue: z.core.$ZodIssue): string {
  if (issue.code === 'too_small' && issue.minimum === 1) return 'must not be empty'
  if (issue.code === 'too_big') return `must be at most ${issue.maximum} characters`
  return issue.message
}

/** All of a draft in words, to show two of them side by side. */
export function modelWords(draft: ModelDraft): Record<string, string> {
  const { name: _, options, ...rest } = draft
  const said = (text: string): string => (text.trim() === '' ? 'none' : text.trim())
  return {
    Engine: said(rest.engine),
    Source: said(rest.source),
    Options:
      Object.entries(options)
        .map(([key, text]) => `${key}=${text}`)
        .join(' ') || 'none',
    'VRAM per replica': said(rest.vram),
    'RAM per replica': said(rest.ram),
    'Kept apart by': said(rest.antiAffinity),
  }
}

const SHOWN = [
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
] as const

/** As people write it, where that says exactly the same; else in bytes. */
function sizeText(bytes: number): string {
  for (const [unit, size] of SHOWN) if (bytes > 0 && bytes % size === 0) return `${bytes / size}${unit}`
  return String(bytes)
}
