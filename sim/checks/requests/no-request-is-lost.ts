import type { Sent, End, Traffic } from '../../clients/traffic.ts'
import type { Cluster } from '../../cluster.ts'
import { textsOf } from '../../roles/data-path.ts'
import type { Check } from '../check.ts'
import { isMeant, labelsOf } from '../meant.ts'

/** Loaded for a minute, up to three times; then served by an engine, slowly. */
const ANSWERED_WITHIN_MS = 6 * 60_000
/** Who is kept at the line. */
const KEPT_WITHIN_MS = 3_600_000 + ANSWERED_WITHIN_MS
/** A replica that has served undisturbed for so long is known to all. */
const SETTLED_MS = 60_000

/**
 * Invariant 10: every request ends. It has its whole answer and nothing else, or a truthful error; what breaks off halfway
 * says so. While there is a replica that serves, undisturbed, nobody is refused.
 */
export function noRequestIsLost(cluster: Cluster, traffic: Traffic): Check {
  const { queue, store, health } = cluster

  const wrongAnswer = ({ asked, response }: Sent): string | undefined => {
    const expected = textsOf(response.req, asked.tokens, asked.isStream).join('')
    const text = asked.keepsAtLine ? response.text.replaceAll(/^: .*\n\n/gm, '') : response.text
    return text === expected
      ? undefined
      : `request ${asked.id} got ${JSON.stringify(text.slice(0, 200))} for its answer`
  }
  const untrue = ({ asked, response }: Sent): string | undefined => {
    let body: { error?: { message?: string; code?: string } }
    try {
      body = JSON.parse(response.text) as typeof body
    } catch {
      return `request ${asked.id} failed with ${JSON.stringify(response.text.slice(0, 200))}, which is no error`
    }
    if (!body.error?.message) return `request ${asked.id} failed with status ${response.statusCode} and no reason`
    return undefined
  }
  const mute = ({ asked, response }: Sent): string | undefined => {
    if (response.isCut || !asked.isStream) return undefined
    const last = response.text.trimEnd().split('\n\n').at(-1) ?? ''
    return last.includes('"error"') ? undefined : `request ${asked.id} broke off without a word: ${last}`
  }
  /** A replica that was there all the time and could have served. */
  const served = ({ asked, sentMs, gateway }: Sent): string | undefined => {
    const beforeMs = sentMs - SETTLED_MS
    if (Math.max(health.controlCalmSinceMs(), health.calmSinceMs(gateway.process.name)) > beforeMs) return undefined
    const [model] = store.read<{ revision: string; updated_at: number }>(
      'select revision, updated_at from models where name = $1',
      [asked.model],
    )
    if (!model || model.updated_at > beforeMs) return undefined
    for (const row of store.mirror.replicas.values()) {
      if (row.modelName !== asked.model || row.state !== 'ready' || row.sinceMs > beforeMs) continue
      const node = store.mirror.nodes.get(row.nodeId)
      const machine = cluster.machineOfNode(row.nodeId)
      if (!node || !machine || row.revision !== model.revision) continue
      if (node.desired !== 'active' || node.liveness !== 'online' || node.routableSinceMs > beforeMs) continue
      if ((store.mirror.labelledMs.get(node.id) ?? 0) > beforeMs || isRuleNewer(asked.model, beforeMs)) continue
      // One on a node that the rule excludes by now is kept, in case that was a mistake, and serves nobody.
      if (!isMeant(selectorOf(asked.model), labelsOf(store, node.id))) continue
      if (health.calmSinceMs(machine.name) > beforeMs) continue
      const engine = [...machine.engines.values()].find(({ spec }) => spec.id === row.id)
      if (engine?.isServing) return `${row.id} on ${machine.name}`
    }
    return undefined
  }
  const selectorOf = (model: string): string =>
    store.read<{ node_selector: string }>('select node_selector from rules where model_name = $1', [model])[0]
      ?.node_selector ?? '{}'
  const isRuleNewer = (model: string, beforeMs: number): boolean =>
    store.read('select 1 as one from rules where model_name = $1 and updated_at > $2', [model, beforeMs]).length > 0

  return {
    name: 'requests (invariant 10)',
    onEnded(sent: Sent, end: End) {
      if (end === 'whole') return wrongAnswer(sent)
      if (end === 'broken off') return mute(sent)
      if (end !== 'error') return undefined
      const problem = untrue(sent)
      if (problem || sent.response.statusCode === 429) return problem
      const who = served(sent)
      return (
        who &&
        `request ${sent.asked.id} for ${sent.asked.model} failed (${sent.response.text.slice(0, 300)}), and ${who} serves`
      )
    },
    look() {
      for (const { asked, sentMs, gateway } of traffic.open) {
        const sinceMs = Math.max(sentMs, health.calmSinceMs(gateway.process.name))
        const withinMs = asked.keepsAtLine ? KEPT_WITHIN_MS : ANSWERED_WITHIN_MS
        if (queue.nowMs - sinceMs > withinMs) return `request ${asked.id} for ${asked.model} has no answer and no error`
      }
      return undefined
    },
  }
}
