import { setImmediate } from 'node:timers/promises'
import type { PlanView } from '../../../api/admin/plan-schemas.ts'
import type { DocumentInput } from '../../../api/admin/document.ts'
import { absentNodes, diffDocument } from '../../../core/declare/diff-document.ts'
import { foreseeing, impossibleNow } from '../../../core/declare/foresee.ts'
import type { Change, Declaration, Foresight, Settings } from '../../../core/declare/types.ts'
import { worldAfter } from '../../../core/declare/world-after.ts'
import { worldIf } from '../../../core/declare/world-if.ts'
import { leftWithout } from '../../../core/declare/left-without.ts'
import { modelMistakes } from '../../../core/declare/model-mistakes.ts'
import type { Node, World } from '../../../core/types.ts'
import { AppError } from '../../../platform/errors.ts'
import { listReplicas } from '../../../store/nouns/replicas.ts'
import { loadWorld } from '../../../store/world/world.ts'
import { applyChanges } from '../../changes/apply-changes.ts'
import { change } from '../../changes/change.ts'
import { leftText, noNodeMatches } from '../../../core/explain/effect-text.ts'
import { loadSettings, revisionOf, toDeclaration } from '../../changes/settings.ts'
import type { Answers } from '../answers.ts'
import { viewChange } from '../../views/change-view.ts'
import { engineWants } from '../check-model.ts'
import type { AdminDeps } from '../deps.ts'
import { exportDocument } from './export-document.ts'
import { imagine } from './what-if.ts'
import { viewPlan } from '../../views/plan-view.ts'

export function planAnswers(deps: AdminDeps): Answers<'plan' | 'apply' | 'exportDocument' | 'whatIf'> {
  const { db } = deps
  return {
    plan: ({ document, prune }) => planOf(deps, document, prune),

    async apply({ document, prune, revision }) {
      const wanted = toDeclaration(document)
      // Read before: within, it would be run again at every heartbeat.
      const replicas = await listReplicas(db)
      const done = await change(deps, async (tx, tell) => {
        const settings = await loadSettings(tx)
        checkAgents(settings, wanted)
        if (revision !== undefined && revision !== revisionOf(settings)) return undefined
        const changes = diffDocument(settings, wanted, { prune })
        await applyChanges(tx, tell, changes, { document, replicas })
        const after = changes.length === 0 ? settings : await loadSettings(tx)
        return { changes, revision: revisionOf(after), absent: absentNodes(settings, wanted) }
      })
      if (!done) throw await outdated(deps, document, prune)
      const warnings = await warningsOf(deps, done.changes, (await loadWorld(db)).nodes)
      return { revision: done.revision, changes: done.changes.map(viewChange), absent_nodes: done.absent, warnings }
    },

    exportDocument: async () => exportDocument(await loadSettings(db)),

    async whatIf(input) {
      const settings = await loadSettings(db)
      const world = await loadWorld(db)
      const { imagined, changes } = imagine(settings, world, input)
      const { world: other, lost, frozen } = worldIf(world, imagined)
      const foresight = await inTurns(foreseeing(other, deps.placement))
      foresight.steps.unshift(...lost.map((replica) => ({ kind: 'lost' as const, replica })))
      foresight.frozen.push(...frozen)
      return view(deps, { settings, world, other, changes, foresight, absent: [] })
    },
  }
}

async function planOf(deps: AdminDeps, document: DocumentInput, prune: boolean): Promise<PlanView> {
  const wanted = toDeclaration(document)
  // Before the world: when something is changed in between, the plan no longer fits, and says so when it is applied.
  const settings = await loadSettings(deps.db)
  checkAgents(settings, wanted)
  const world = await loadWorld(deps.db)
  const changes = diffDocument(settings, wanted, { prune })
  const other = worldAfter(world, settings, changes)
  const foresight = await inTurns(foreseeing(other, deps.placement))
  return view(deps, { settings, world, other, changes, foresight, absent: absentNodes(settings, wanted) })
}

/** A person reads no more notes than these. */
const MOST_WARNED = 1000

interface Planned {
  settings: Settings
  world: World
  /** As it would be. */
  other: World
  changes: readonly Change[]
  foresight: Foresight
  absent: string[]
}

async function view(deps: AdminDeps, planned: Planned): Promise<PlanView> {
  const { settings, world, other, changes, foresight, absent } = planned
  const left = leftWithout(world, other, deps.placement)
  return viewPlan({
    left,
    warnings: [...left.map(leftText), ...(await warningsOf(deps, changes, other.nodes))],
    revision: revisionOf(settings),
    changes,
    foresight,
    nodes: [...world.nodes, ...other.nodes],
    before: impossibleNow(world, deps.placement),
    absent,
  })
}

/**
 * What is no reason to refuse a document, which may be for nodes that have yet to join: a model that no node can run as
 * things are, a rule that no node matches.
 */
async function warningsOf(deps: AdminDeps, changes: readonly Change[], nodes: readonly Node[]): Promise<string[]> {
  const engines = await engineWants(deps.db)
  return changes.slice(0, MOST_WARNED).flatMap((change): string[] => {
    if (change.noun === 'model' && change.after) {
      return modelMistakes(change.after, engines).map(({ text }) => `${change.name}: ${text}`)
    }
    if (change.noun === 'rule' && change.after)
      return [noNodeMatches(change.after, nodes)].filter((text) => text !== undefined)
    return []
  })
}

/** Yields after each turn: a plan for many nodes takes a while, and this process answers requests as well. */
async function inTurns<T>(work: Generator<unknown, T>): Promise<T> {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
    await setImmediate()
  }
}

/** Throws for a setting that a single edit would be refused, too. */
function checkAgents({ nodes }: Settings, wanted: Declaration): void {
  const agents = new Set(nodes.flatMap(({ name, nodeType }) => (nodeType === 'agent' ? [name] : [])))
  for (const [i, { name, slots, budget }] of wanted.nodes.entries()) {
    if (!agents.has(name)) continue
    const field = typeof slots === 'number' ? 'max_replicas_per_model' : 'vram_budget'
    if (typeof slots !== 'number' && typeof budget !== 'string') continue
    const param = `document.nodes.${i}.${field}`
    const text = `${param}: ${name} is an agent: it runs no replicas. Leave ${field} out.`
    throw new AppError('bad_request', text, { details: { param } })
  }
}

async function outdated(deps: AdminDeps, document: DocumentInput, prune: boolean): Promise<AppError> {
  const text =
    'Something has changed since this was planned, and nothing was applied. Look at the new plan, and apply that.'
  return new AppError('conflict', text, { beside: { plan: await planOf(deps, document, prune) } })
}
