import type { BackendView } from '../../api/admin/schemas.ts'
import { firstSentence } from '../terminal/format.ts'
import { progressText } from '../terminal/progress.ts'
import type { Look } from '../terminal/style.ts'

export const stateLooks: Record<BackendView['state'], Look> = {
  available: 'green',
  installable: 'cyan',
  installing: 'yellow',
  missing: 'dim',
  broken: 'red',
}

/** The state of an engine in one text that begins with the state; the remedy is printed elsewhere. */
export function engineText(engine: BackendView): string {
  const { state, reason, version, operation } = engine
  if (operation?.state === 'running') {
    // The engine is being deleted or upgraded, which its state does not show.
    const doing = state === 'installing' ? state : `${state}, ${operation.kind} is going on`
    const far = operation.progress ? progressText(operation.progress) : ''
    return far === '' ? doing : `${doing} ${far}`
  }
  const failure =
    operation?.state === 'failed'
      ? `; the last ${operation.kind} failed: ${firstSentence(operation.error ?? 'no reason')}`
      : ''
  const which = version === null ? '' : `, ${shortVersion(version)}`
  return `${state}${which}${reason === null ? '' : `: ${firstSentence(reason)}`}${failure}`
}

/** `version 3fa9c1d2e4f5` of an archive, `from 2026-10-06` of a command. */
export function shortVersion(version: string): string {
  if (/^[0-9a-f]{64}$/.test(version)) return `version ${version.slice(0, 12)}`
  const day = /^(\d{4}-\d{2}-\d{2})T/.exec(version)?.[1]
  return day === undefined ? `version ${version}` : `from ${day}`
}
