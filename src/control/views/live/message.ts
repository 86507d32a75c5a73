import type { LiveMessage } from '../../../api/admin/live-schemas.ts'
import { changesBetween, isNothing, isSame } from './changes.ts'
import type { Picture } from './picture.ts'

const byId = ({ id }: { id: string }): string => id
const byName = ({ name }: { name: string }): string => name
const byModel = ({ model_name: name }: { model_name: string }): string => name

/** Everything, for a new reader. */
export function snapshotOf(picture: Picture): LiveMessage {
  const all = <T>(set: T[]) => ({ set, patch: {}, gone: [] })
  return {
    is_snapshot: true,
    at: picture.at,
    nodes: all(picture.nodes),
    replicas: all(picture.replicas),
    models: all(picture.models),
    rules: all(picture.rules),
    problems: picture.problems,
    traffic: picture.traffic,
    newest_event: picture.newestEvent,
  }
}

/** What a reader that has `before` needs; undefined when nothing has changed. */
export function messageBetween(before: Picture, after: Picture): LiveMessage | undefined {
  const nodes = changesBetween(before.nodes, after.nodes, byId)
  const replicas = changesBetween(before.replicas, after.replicas, byId)
  const models = changesBetween(before.models, after.models, byName)
  const rules = changesBetween(before.rules, after.rules, byModel)
  const problems = isSame(before.problems, after.problems) ? null : after.problems
  const traffic = isSame(before.traffic, after.traffic) ? null : after.traffic
  const isSilent =
    [nodes, replicas, models, rules].every(isNothing) &&
    problems === null &&
    traffic === null &&
    before.newestEvent === after.newestEvent
  if (isSilent) return undefined
  return {
    is_snapshot: false,
    at: after.at,
    nodes,
    replicas,
    models,
    rules,
    problems,
    traffic,
    newest_event: after.newestEvent,
  }
}
