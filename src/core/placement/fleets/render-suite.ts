import { formatBytes } from '../../lib/bytes.ts'
import { replicaKey } from '../../lib/replica-key.ts'
import { isEnding } from '../../lifecycle/states.ts'
import type { Claim, Model, Node, Replica } from '../../types.ts'
import { describeRefusal } from '../refusals.ts'
import type { Placement } from '../types.ts'

/** A fleet and what was decided on it, as a page for people. */
export function renderFleet(title: string, nodes: readonly Node[], replicas: readonly Replica[]): string[] {
  const lines = [title, '='.repeat(title.length), '']
  for (const node of nodes) {
    lines.push(describeNode(node))
    const here = replicas.filter(({ nodeId }) => nodeId === node.id)
    for (const replica of here) lines.push(`    ${describeReplica(replica)}`)
  }
  return lines
}

export function renderPlacement(what: string, model: Model, placement: Placement): string[] {
  const lines = ['', `${model.name}: ${what}`]
  if (placement.ok) {
    const { nodeName, replicaIndex, claim, victims, waitsFor } = placement
    lines.push(`  -> ${nodeName} as ${replicaKey(model.name, replicaIndex)}, ${describeHeld(claim)}`)
    if (victims.length > 0) lines.push(`     stops first: ${victims.map(keyOf).join(', ')}`)
    if (waitsFor.length > 0) lines.push(`     waits for the end of: ${waitsFor.map(keyOf).join(', ')}`)
  } else {
    lines.push(`  -> nowhere${placement.isBusy ? ', until others are idle' : ''}`)
  }
  for (const refusal of placement.refusals) {
    lines.push(`     ${refusal.nodeName} ${describeRefusal(refusal)} [${refusal.filter}]`)
  }
  if (!placement.ok) for (const { text } of placement.advice) lines.push(`     advice: ${text}`)
  return lines
}

function describeNode({
  name,
  nodeType,
  devices,
  totalRam,
  vramBudget,
  liveness,
  approved,
  desired,
  labels,
}: Node): string {
  const cards = devices.map((device) => {
    const free = device.availableVram === null ? '' : `, ${formatBytes(device.availableVram)} read as free`
    return `gpu ${device.index} ${formatBytes(device.totalVram)}${device.unified ? ' shared' : ''}${free}`
  })
  const facts = [...cards, ...(totalRam === null ? [] : [`${formatBytes(totalRam)} of memory`])]
  if (vramBudget !== null) facts.push(`budget ${formatBytes(vramBudget)}`)
  if (nodeType !== 'backend') facts.push(nodeType)
  if (!approved) facts.push('not approved')
  if (desired !== 'active') facts.push(desired)
  if (liveness !== 'online') facts.push(liveness)
  for (const [key, value] of Object.entries(labels)) facts.push(`${key}=${value}`)
  return `${name}: ${facts.join('; ')}`
}

function describeReplica(replica: Replica): string {
  const { state, claim, measured, inFlight } = replica
  const parts = [state, claim ? describeHeld(claim) : 'no claim']
  if (measured) {
    const devices = measured.devices?.map(({ index, bytes }) => `${formatBytes(bytes)} on gpu ${index}`) ?? []
    parts.push(`measured ${[...devices, `${formatBytes(measured.ram)} of memory`].join(' and ')}`)
  }
  if (!isEnding(state) && inFlight > 0) parts.push(inFlight === 1 ? '1 request' : `${inFlight} requests`)
  return `${keyOf(replica)}: ${parts.join('; ')}`
}

function describeHeld({ devices, ram, disk, source, alone }: Claim): string {
  const parts = devices.map(({ index, bytes }) => `${formatBytes(bytes)} on gpu ${index}`)
  if (ram > 0 || devices.length === 0) parts.push(`${formatBytes(ram)} of memory`)
  if (disk > 0) parts.push(`${formatBytes(disk)} of disk`)
  return `claims ${parts.join(', ')} (${source}${alone ? ', alone' : ''})`
}

function keyOf({ modelName, replicaIndex }: Replica): string {
  return replicaKey(modelName, replicaIndex)
}
