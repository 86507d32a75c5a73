import type { BodyOf } from '../../../api/call.ts'
import type { LiveModel } from '../../../../../src/api/admin/live-schemas.ts'
import type { BackendView, ReplicaView } from '../../../../../src/api/admin/schemas.ts'

/** By name of the engine, the operation that its node was asked for last. */
export type Asked = Readonly<Record<string, string>>

/** True while an engine is being changed, or its node has not told of what it was asked for. */
export function isUnderWay(engine: BackendView, asked: Asked): boolean {
  const { operation } = engine
  if (operation?.state === 'running') return true
  const wanted = asked[engine.name]
  return wanted !== undefined && operation?.id !== wanted
}

/** `3fa9c1d2e4f5` of an archive, `2026-10-06` of a command. */
export function versionText(version: string | null): string {
  if (version === null) return '–'
  if (/^[0-9a-f]{64}$/.test(version)) return version.slice(0, 12)
  return /^(\d{4}-\d{2}-\d{2})T/.exec(version)?.[1] ?? version
}

/** What is asked for when an engine is installed; without an archive what its profile says. */
export function installBody(engine: string, url: string, sha256: string): BodyOf<'installBackend'> {
  const archive = { url: url.trim(), sha256: sha256.trim().toLowerCase() }
  return archive.url === '' && archive.sha256 === '' ? { engine } : { engine, archive }
}

/** The replicas on a node that run by an engine. */
export function replicasBy(
  engineName: string,
  replicas: readonly ReplicaView[],
  models: readonly LiveModel[],
): readonly ReplicaView[] {
  const names = new Set(models.filter(({ engine }) => engine === engineName).map(({ name }) => name))
  return replicas.filter(({ model_name: name, state }) => names.has(name) && state !== 'failed')
}
