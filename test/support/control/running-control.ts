import type { HeartbeatMessage } from '../../../src/api/bus/messages.ts'
import type { Bus } from '../../../src/bus/bus.ts'
import type { Control } from '../../../src/control/control-deps.ts'
import { startControl } from '../../../src/control/start-control.ts'
import { systemClock } from '../../../src/platform/run/clock.ts'
import { AppError } from '../../../src/platform/errors.ts'
import { silentLogger } from '../../../src/platform/run/log.ts'
import { aHeartbeat } from '../builders.ts'
import type { Applicant, ControlScene } from './control-scene.ts'
import { until } from '../until.ts'

export interface RunningControl {
  control: Control
  /** A heartbeat, as it comes over the bus. */
  beat: (who: Applicant, facts?: Partial<HeartbeatMessage>) => void
}

/**
 * Control as it runs, on the store of a scene and by the real clock; it takes the lead from the scene. The test is the
 * workers: nobody answers what they are asked. It speaks over a bus of the test, if there is one.
 */
export async function runControl(scene: ControlScene, over?: Bus): Promise<RunningControl> {
  await scene.db.transaction((tx) => tx.query('update leases set expires_at = 0'))
  let hear = (_message: HeartbeatMessage, _nodeId: string): void => {}
  const bus =
    over ??
    ({
      publish() {},
      subscribe(name: string, handler: typeof hear) {
        if (name === 'heartbeat') hear = handler
      },
      respond() {},
      request: () => Promise.reject(new AppError('unavailable', 'nothing is listening')),
      onReconnect() {},
      isConnected: () => true,
    } as unknown as Bus)
  const control = startControl({
    db: scene.db,
    bus,
    clock: systemClock,
    log: silentLogger,
    owner: 'it',
    adminKey: () => 'fla_test',
    clusterSecret: 'secret',
    clusterId: 'test-cluster',
    liveness: { unreachableAfterMs: 15_000, offlineAfterMs: 60_000 },
    events: { wake() {} },
    placement: 'spread',
    modelsFolder: '/nowhere',
    hub: { endpoint: 'http://127.0.0.1:9', token: undefined },
  })
  await until(() => control.isLeading())
  return {
    control,
    beat(who, facts = {}) {
      who.seq += 1
      hear(aHeartbeat({ boot_id: who.bootId, seq: who.seq, ...facts }), who.nodeId)
    },
  }
}
