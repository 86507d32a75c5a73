import { connectBus } from '../../src/bus/bus.ts'
import { silentLogger } from '../../src/platform/run/log.ts'
import { aHeartbeat } from '../../test/support/builders.ts'
import type { AdmittedNode } from './admit-node.ts'
import { startAttack } from './attack.ts'
import { startFrontend, type Frontend } from './frontend.ts'

export interface HostileRun {
  messages: number
  ms: number
  /** How long ago, at worst, the frontend had heard the other node. */
  oldestHeartbeatMs: number
  slowestAnswerMs: number
  logBytes: number
  /** What should not have been, if anything. */
  finding: string | undefined
}

const BATCH = 200
/** The other node sends this often, and is late after as long as any node may be between two heartbeats. */
const BEAT_EVERY_MS = 250
const LATE_AFTER_MS = 5000
const LOOK_EVERY_MS = 200
/** A line a minute and subject; a hundred times less than what it sends. */
const MOST_LOG_BYTES = 1_000_000

/**
 * One approved node against a real frontend: so many spoiled, oversized and lying messages, on subjects that it may and may not
 * use, with forged subjects for the answers, and junk for each answer to control. Another node does what is right meanwhile.
 */
export async function hostileNode({ messages, seed }: { messages: number; seed: number }): Promise<HostileRun> {
  const frontend = await startFrontend()
  const startMs = performance.now()
  const run = { messages: 0, ms: 0, oldestHeartbeatMs: 0, slowestAnswerMs: 0, logBytes: 0 }
  let finding: string | undefined
  try {
    const [hostile, honest] = [await frontend.admit('hostile'), await frontend.admit('honest')]
    // So that control has something to ask of a node that says that it has the engine.
    await frontend.ask('POST', '/api/models', { name: 'bait', engine: 'sim' })
    await frontend.ask('POST', '/api/nodes/scheduling', { model_name: 'bait', min_replicas: 1 })
    const honestNode = await startHonest(honest)
    const watch = startWatch(frontend, honest, (heartbeatMs, answerMs) => {
      run.oldestHeartbeatMs = Math.max(run.oldestHeartbeatMs, heartbeatMs)
      run.slowestAnswerMs = Math.max(run.slowestAnswerMs, answerMs)
      if (heartbeatMs > LATE_AFTER_MS) finding ??= `the other node was last heard ${Math.round(heartbeatMs)} ms ago`
    })
    const attack = await startAttack(hostile, { other: honest.id, engine: 'sim', seed })
    while (run.messages < messages && finding === undefined) {
      const count = Math.min(BATCH, messages - run.messages)
      if (!(await attack.say(count))) finding ??= 'the bus took no more of its messages'
      run.messages += count
      if (frontend.ended() !== undefined) finding = frontend.ended()
    }
    await watch.stop()
    const { status } = await frontend.ask<{ status: string }>('GET', `/api/nodes/${honest.id}`)
    if (status !== 'healthy') finding ??= `the other node is ${status}`
    await attack.stop()
    await honestNode.stop()
  } catch (error) {
    finding ??= frontend.ended() ?? String(error)
  }
  run.logBytes = frontend.logBytes()
  if (run.logBytes > MOST_LOG_BYTES) finding ??= `the frontend has logged ${run.logBytes} bytes`
  finding ??= frontend.ended()
  await frontend.stop()
  return { ...run, ms: performance.now() - startMs, finding }
}

async function startHonest({ id, bootId, address }: AdmittedNode): Promise<{ stop(): Promise<void> }> {
  const bus = await connectBus({ address, role: 'node', clientId: id, log: silentLogger })
  let seq = 0
  const beat = (): void => bus.publish('heartbeat', aHeartbeat({ boot_id: bootId, seq: (seq += 1) }), id)
  beat()
  const timer = setInterval(beat, BEAT_EVERY_MS)
  return {
    async stop() {
      clearInterval(timer)
      await bus.dispose()
    },
  }
}

/** Looks what the frontend knows of the other node. */
function startWatch(
  frontend: Frontend,
  { id }: AdmittedNode,
  onLook: (heartbeatMs: number, answerMs: number) => void,
): { stop(): Promise<void> } {
  const over = new AbortController()
  const look = async (): Promise<void> => {
    let wasHeard = false
    while (!over.signal.aborted) {
      const askedMs = Date.now()
      const node = await frontend
        .ask<{ last_heartbeat: number | null }>('GET', `/api/nodes/${id}`)
        .catch(() => undefined)
      wasHeard ||= typeof node?.last_heartbeat === 'number'
      if (node && wasHeard) onLook(askedMs - (node.last_heartbeat ?? 0), Date.now() - askedMs)
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
  }
  const looking = look()
  return {
    stop() {
      over.abort()
      return looking
    },
  }
}
