import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { NodeRegistration, Registered, SignedRegistration } from '../../api/admin/schemas.ts'
import { runOf } from '../../api/node-run.ts'
import { AppError } from '../../platform/errors.ts'
import type { Sql } from '../../store/sql.ts'
import { findToken, useToken, type TokenRow } from '../../store/nouns/join-tokens.ts'
import { replaceLabels } from '../../store/nouns/labels.ts'
import {
  findNode,
  findNodeByKey,
  findNodeByName,
  insertNode,
  replaceNodeKey,
  updateNode,
  type NodeFacts,
  type NodeRow,
} from '../../store/nouns/nodes.ts'
import { deleteReplicasOfNode, deleteReplicasOfOldBoot } from '../../store/nouns/replicas.ts'
import type { AdminDeps } from '../api/deps.ts'
import { change, type ChangeDeps, type Tell } from '../changes/change.ts'
import { registeredAs, type CredentialDeps } from './node-credentials.ts'
import { checkSameRun, refuseSecondRun, type NodeRunDeps } from './node-runs.ts'
import { checkDeclaration, checkProof } from './registration.ts'

export type RegisterDeps = ChangeDeps &
  CredentialDeps &
  Pick<AdminDeps, 'clock' | 'approves' | 'autoApprove'> &
  Pick<NodeRunDeps, 'probeRun'> &
  Partial<Pick<AdminDeps, 'onNodeRemoved' | 'onNodeSeen'>> & {
    /** Replaces the check of the signature, for callers that prove the key in another way. */
    checkProof?: typeof checkProof
  }

export interface Applicant {
  /** The join token it shows. */
  token: string
  /** The call it comes with, which says where it comes from. */
  request: IncomingMessage
}

/** A worker presents itself: a new node with a join token that still works, or a known one by its key. */
export async function registerNode(
  deps: RegisterDeps,
  { registration, signature, replaces }: SignedRegistration,
  { token, request }: Applicant,
): Promise<Registered> {
  const prove = deps.checkProof ?? checkProof
  prove(registration, signature, deps.clock.nowMs())
  const aheadMs = registration.signed_at - deps.clock.nowMs()
  // The old key signs the new one, so only the holder of the old key can replace it.
  if (replaces) checkProof(registration, replaces.signature, deps.clock.nowMs(), replaces.public_key)
  let replacedKey: string | undefined
  const address = checkDeclaration(registration, request.socket.remoteAddress)
  const why = approvalOf(deps, registration.public_key)
  const run = runOf(request)
  const lookedAt = await nodeOf(deps.db, registration, replaces)
  // Our own worker runs in this process and its data folder is locked, so an earlier run of it has ended.
  if (lookedAt && !deps.approves(registration.public_key)) {
    // A stranger's call must not make us connect anywhere.
    if (!(await findToken(deps.db, token))) throw new AppError('unauthorized', UNKNOWN_TOKEN)
    await refuseSecondRun(deps, lookedAt, { run, address, bootId: registration.boot_id })
  }
  const node = await change(deps, async (tx, tell) => {
    const shown = await findToken(tx, token)
    if (!shown) throw new AppError('unauthorized', UNKNOWN_TOKEN)
    let known = await findNodeByKey(tx, registration.public_key)
    const before = !known && replaces ? await findNodeByKey(tx, replaces.public_key) : undefined
    replacedKey = before?.public_key
    if (before) {
      await takeKey(tx, tell, before, registration.public_key)
      known = { ...before, public_key: registration.public_key }
    }
    await refuseNamesake(tx, registration, known)
    if (known) checkSameRun(known, lookedAt, run)
    const facts = toFacts(registration, known?.id ?? randomUUID(), address, run)
    if (known) await comeBack(tx, tell, facts, known, registration)
    else {
      // Our own worker needs no valid token: it runs in this process.
      if (!deps.approves(registration.public_key)) await spend(tx, shown)
      await join(tx, tell, facts, shown, why, registration)
    }
    return (await findNode(tx, facts.id))!
  })
  if (replacedKey !== undefined) await deps.onNodeRemoved?.(node.id, replacedKey)
  // An agent has no data port that others reach.
  const seen = { id: node.id, name: node.name, address: node.node_type === 'agent' ? '' : node.address, aheadMs }
  deps.onNodeSeen?.(seen, 'registered')
  return registeredAs(deps, node, request)
}

async function takeKey(tx: Sql, tell: Tell, node: NodeRow, publicKey: string): Promise<void> {
  await replaceNodeKey(tx, node.id, publicKey)
  const reason = `${node.name} has a new key; the old one no longer works`
  const data = { public_key: publicKey, replaced: node.public_key }
  await tell({ actor: `node ${node.name}`, action: 'node.key_replaced', nodeId: node.id, reason, data })
}

export const UNKNOWN_TOKEN = 'The join token is wrong: this cluster has made no such token, or has forgotten it.'

function approvalOf({ approves, autoApprove }: RegisterDeps, publicKey: string): string | undefined {
  if (approves(publicKey)) return 'the worker inside a frontend'
  return autoApprove ? 'nodes are approved automatically here' : undefined
}

async function refuseNamesake(tx: Sql, { name, public_key: key }: NodeRegistration, known: NodeRow | undefined) {
  const namesake = await findNodeByName(tx, name)
  if (!namesake || namesake.id === known?.id) return
  const text = `Another node is called "${name}" already (key ${namesake.public_key}, yours is ${key}).`
  throw new AppError('conflict', `${text} Start this worker with another --node-name.`)
}

async function nodeOf(
  sql: Sql,
  { public_key: key }: NodeRegistration,
  replaces: SignedRegistration['replaces'],
): Promise<NodeRow | undefined> {
  return (await findNodeByKey(sql, key)) ?? (replaces && (await findNodeByKey(sql, replaces.public_key)))
}

function toFacts(registration: NodeRegistration, id: string, address: string, runId: string | null): NodeFacts {
  return {
    id,
    name: registration.name,
    publicKey: registration.public_key,
    nodeType: registration.node_type,
    address,
    version: registration.version,
    bootId: registration.boot_id,
    runId,
    maxReplicasPerModel: registration.max_replicas_per_model,
    vramBudget: registration.vram_budget,
    tlsFingerprint: registration.tls_fingerprint ?? null,
  }
}

/** In one transaction with the row, so that a token is never used more often than it may be. */
async function spend(tx: Sql, token: TokenRow): Promise<void> {
  if (token.state === 'active' && (await useToken(tx, token.id))) return
  throw new AppError('unauthorized', `The join token is ${token.state}. Ask for another: flotilla token create.`)
}

async function join(
  tx: Sql,
  tell: Tell,
  facts: NodeFacts,
  token: TokenRow,
  whyApproved: string | undefined,
  registration: NodeRegistration,
): Promise<void> {
  await insertNode(tx, facts, whyApproved !== undefined)
  await declareLabels(tx, facts.id, registration)
  const { id: nodeId, name, nodeType, address, version } = facts
  await tell({
    actor: `node ${name}`,
    action: 'node.registered',
    nodeId,
    reason: `${name} joined with the token "${token.name}"`,
    data: { name, node_type: nodeType, address, version, token_id: token.id },
  })
  if (whyApproved !== undefined) {
    await tell({ actor: 'control', action: 'node.approved', nodeId, reason: `${name} is approved: ${whyApproved}` })
  }
}

/**
 * What an admin decided stays. A new boot, and only that, has none of the old replicas. Any token of ours will do, even
 * an ended one: the node's key identifies it, and an ended token must not keep a machine from restarting.
 */
async function comeBack(
  tx: Sql,
  tell: Tell,
  facts: NodeFacts,
  known: NodeRow,
  registration: NodeRegistration,
): Promise<void> {
  const isNewBoot = known.boot_id !== facts.bootId
  if (facts.nodeType === 'agent') await deleteReplicasOfNode(tx, facts.id)
  const dropped = isNewBoot ? await deleteReplicasOfOldBoot(tx, facts.id) : 0
  await updateNode(tx, facts)
  const labels = await declareLabels(tx, facts.id, registration)
  const changed = [...changedFacts(known, facts), ...(labels.length > 0 ? ['labels'] : [])]
  if (!isNewBoot && changed.length === 0) return
  await tell({
    actor: `node ${facts.name}`,
    action: isNewBoot ? 'node.restarted' : 'node.changed',
    nodeId: facts.id,
    reason: isNewBoot ? `${facts.name} has started again` : `${facts.name} declares another ${changed.join(', ')}`,
    data: { changed, replicas_dropped: dropped },
  })
}

async function declareLabels(tx: Sql, nodeId: string, registration: NodeRegistration): Promise<string[]> {
  const auto = new Map([...Object.entries(registration.auto_labels), ['node.name', registration.name]])
  return [
    ...(await replaceLabels(tx, nodeId, 'worker', new Map(Object.entries(registration.labels)))),
    ...(await replaceLabels(tx, nodeId, 'auto', auto)),
  ]
}

function changedFacts(known: NodeRow, facts: NodeFacts): string[] {
  const pairs: [string, unknown, unknown][] = [
    ['name', known.name, facts.name],
    ['node_type', known.node_type, facts.nodeType],
    ['address', known.address, facts.address],
    ['version', known.version, facts.version],
    ['max_replicas_per_model', known.max_replicas_per_model, facts.maxReplicasPerModel],
    ['vram_budget', known.vram_budget, facts.vramBudget],
    ['tls_fingerprint', known.tls_fingerprint, facts.tlsFingerprint],
  ]
  return pairs.filter(([, before, now]) => before !== now).map(([name]) => name)
}
