import type { Fault } from '../fault.ts'

/** The store and the bus, away for a moment and for long. No request may notice. */
export const outages: Fault[] = [
  {
    name: 'restart PostgreSQL',
    group: 'store',
    holdMs: 0,
    async strike({ ground }) {
      await ground.postgres.kill()
      return { heal: () => ground.postgres.restart(), keepsReplicas: true }
    },
  },
  {
    name: 'PostgreSQL is away',
    group: 'store',
    holdMs: 6000,
    longMs: 60_000,
    async strike({ ground }) {
      await ground.postgres.kill()
      return { heal: () => ground.postgres.restart(), keepsReplicas: true }
    },
  },
  {
    name: 'restart NATS',
    group: 'bus',
    holdMs: 0,
    async strike({ ground }) {
      await ground.stopNats()
      return { heal: () => ground.startNats(), keepsReplicas: true }
    },
  },
  {
    name: 'NATS is away',
    group: 'bus',
    holdMs: 6000,
    longMs: 60_000,
    async strike({ ground }) {
      await ground.stopNats()
      return { heal: () => ground.startNats(), keepsReplicas: true }
    },
  },
  {
    name: 'PostgreSQL and NATS are away',
    group: 'store',
    holdMs: 6000,
    longMs: 60_000,
    async strike({ ground }) {
      await Promise.all([ground.postgres.kill(), ground.stopNats()])
      const heal = async (): Promise<void> => {
        await Promise.all([ground.postgres.restart(), ground.startNats()])
      }
      return { heal, keepsReplicas: true }
    },
  },
]
