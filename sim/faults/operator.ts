import { routePolicies } from '../../src/core/types.ts'
import { AppError } from '../../src/platform/errors.ts'
import { TIERS, type Cluster } from '../cluster.ts'
import type { Machine } from '../machine/machine.ts'
import { drawMeaning } from '../model-kinds.ts'
import type { Random } from '../random.ts'
import { CALLER, REPLACER, type FrontendProcess } from '../roles/frontend-process.ts'

/** Of each rule to ask for a label, and of those to ask for anything but that. */
const SELECTIVE = 0.25
const NEGATED = 0.3
/** Of each rule to ask for one on every node. */
const EVERYWHERE = 0.1

type Admin = FrontendProcess['admin']

/** Somebody who asks the admin API of any frontend that is up. With none there is nobody to ask. */
export class Operator {
  readonly #cluster: Cluster
  readonly #random: Random

  constructor(cluster: Cluster, random: Random) {
    this.#cluster = cluster
    this.#random = random
  }

  changeRule(name: string): void {
    const random = this.#random
    // Now and then more than the cluster has slots for, and fewer than before.
    const most = random.chance(0.8) ? 3 : this.#cluster.machines.length + 4
    const least = random.between(0, random.between(1, most))
    const isSpread = random.chance(EVERYWHERE)
    const rule = {
      model_name: name,
      node_selector: drawSelector(random),
      route_policy: random.oneOf(routePolicies)!,
      min_replicas: isSpread ? 0 : least,
      max_replicas: isSpread || random.chance(0.5) ? 0 : least + random.between(least === 0 ? 1 : 0, 2),
      spread_all: isSpread,
      scale_to_zero_after_s: null,
    }
    this.ask(`rule ${JSON.stringify(rule)}`, (admin) => admin.saveRule(rule, NO_PARAMS, CALLER))
  }

  deleteRule(name: string): void {
    this.ask(`deletes the rule of ${name}`, (admin) => admin.deleteRule(undefined, params({ name }), CALLER))
  }

  /** A new model, or a new meaning of an old one: its replicas have to be replaced. */
  changeModel(name: string): void {
    const { engine, options, memory, antiAffinity } = drawMeaning(this.#random)
    const model = { name, engine, options, memory, anti_affinity: antiAffinity, source: null }
    this.ask(`model ${JSON.stringify(model)}`, (admin) => admin.saveModel(model, NO_PARAMS, REPLACER))
  }

  deleteModel(name: string): void {
    this.ask(`deletes the model ${name}`, (admin) => admin.deleteModel(undefined, params({ name }), CALLER))
  }

  approve(machine: Machine): void {
    this.#onNode('approves', machine, (admin, id) => admin.approveNode(undefined, params({ id }), CALLER))
  }

  drain(machine: Machine): void {
    this.#onNode('drains', machine, (admin, id) => admin.drainNode(undefined, params({ id }), CALLER))
  }

  resume(machine: Machine): void {
    this.#onNode('resumes', machine, (admin, id) => admin.resumeNode(undefined, params({ id }), CALLER))
  }

  deleteNode(machine: Machine): void {
    this.#onNode('deletes', machine, (admin, id) => admin.deleteNode(undefined, params({ id }), CALLER))
  }

  changeSlots(machine: Machine): void {
    const value = this.#random.between(1, 3)
    this.#onNode(`sets ${value} slots of`, machine, (admin, id) => admin.setSlots({ value }, params({ id }), CALLER))
  }

  /** Also below what is held: then nothing more comes. */
  changeBudget(machine: Machine): void {
    const value = this.#random.oneOf(['30%', '80%', undefined])
    this.#onNode(`sets the budget ${value ?? 'none'} of`, machine, (admin, id) =>
      value === undefined
        ? admin.resetBudget(undefined, params({ id }), CALLER)
        : admin.setBudget({ value }, params({ id }), CALLER),
    )
  }

  /** What was right on a node may be wrong on it now, and the other way round. */
  changeLabel(machine: Machine): void {
    const tier = this.#random.oneOf([...TIERS, undefined])
    const labels = tier === undefined ? {} : { tier }
    this.#onNode(`labels ${tier ?? 'nothing'} on`, machine, (admin, id) =>
      admin.putLabels(labels, params({ id }), CALLER),
    )
  }

  acceptLoss(): void {
    this.ask('accepts the loss of what is gone', (admin) => admin.acceptLoss(undefined, NO_PARAMS, CALLER))
  }

  ask(what: string, act: (admin: Admin) => Promise<unknown>): void {
    const { trace, counts, queue, frontendsUp } = this.#cluster
    const frontend = this.#random.oneOf([...frontendsUp.values()])
    if (!frontend) return
    counts.changes += 1
    trace.add('user', what)
    queue.after(1, () =>
      frontend.process.run(() => {
        act(frontend.admin).catch((error: unknown) => {
          if (!(error instanceof AppError)) throw error
          trace.add(frontend.process.name, `refuses: ${error.message}`)
        })
      }),
    )
  }

  #onNode(what: string, machine: Machine, act: (admin: Admin, id: string) => Promise<unknown>): void {
    const { nodeId } = machine
    if (nodeId !== undefined) this.ask(`${what} ${machine.name}`, (admin) => act(admin, nodeId))
  }
}

const NO_PARAMS = {} as never

function params(given: Record<string, string>): never {
  return given as never
}

function drawSelector(random: Random): Record<string, string> {
  if (!random.chance(SELECTIVE)) return {}
  return { tier: `${random.chance(NEGATED) ? '!' : ''}${random.oneOf(TIERS)!}` }
}
