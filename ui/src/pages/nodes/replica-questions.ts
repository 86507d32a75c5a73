import type { ReplicaView } from '../../../../src/api/admin/schemas.ts'
import { countText } from '../../format/figures.ts'
import type { Question } from '../../parts/confirm.tsx'
import { inFlightOf, keyOf } from './replica-facts.ts'

/** What is asked before replicas of one model are unloaded from a node. */
export function unloadQuestion(replicas: readonly ReplicaView[], nodeName: string, isKeptByRule: boolean): Question {
  const [first] = replicas
  const model = first?.model_name ?? ''
  const one = replicas.length === 1 && first ? keyOf(first) : undefined
  return {
    title: one
      ? `Unload ${one} from ${nodeName}?`
      : `Unload all ${replicas.length} replicas of ${model} from ${nodeName}?`,
    text: [
      running(inFlightOf(replicas)),
      isKeptByRule ? `A rule asks for ${model}, so it will be started again here or elsewhere.` : '',
    ]
      .filter((text) => text !== '')
      .join(' '),
    confirm: one ? 'Unload' : 'Unload all',
    isDanger: inFlightOf(replicas) > 0,
  }
}

/** What is asked before a replica is stopped and started again. */
export function restartQuestion(replica: ReplicaView, nodeName: string): Question {
  return {
    title: `Restart ${keyOf(replica)} on ${nodeName}?`,
    text: `${running(replica.in_flight)} It is started again in the same slot.`,
    confirm: 'Restart',
    isDanger: replica.in_flight > 0,
  }
}

function running(count: number): string {
  if (count === 0) return 'No requests are running on it.'
  const [are, they] = count === 1 ? ['is', 'It'] : ['are', 'They']
  return `${countText(count, 'request')} ${are} running. ${they} may finish, but what takes too long is interrupted.`
}
