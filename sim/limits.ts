/** The numbers of the real program (src/up.ts, src/control, src/worker, src/gateway), in one place for the model. */
export const HEARTBEAT_PERIOD_MS = 5000
export const UNREACHABLE_AFTER_MS = 15_000
export const OFFLINE_AFTER_MS = 60_000
export const TURN_PERIOD_MS = 3000
export const LEASE_TTL_MS = 10_000
export const WHOLE_EVERY_MS = 30_000
export const COMMAND_TIMEOUT_MS = 5000
export const SNAPSHOT_TIMEOUT_MS = 2000
export const GATEWAY_CHECK_PERIOD_MS = 1000
export const DRAIN_MS = 30_000
export const KILL_AFTER_MS = 5000
export const MOST_TRIES = 3
export const MOST_WAITS = 3
export const LOAD_WAIT_MS = 60_000
export const WANTED_PERIOD_MS = 2000
export const WANTED_MS = 30_000

/** The longest a message takes while the bus is healthy, and what the store takes. */
export const CALM_DELAY_MS = 20
export const STORE_DELAY_MS = 10

/** Far fewer than the real leader's, so that models take turns here as well: some three searches of ten nodes in a pass. */
export const MOST_REFUSALS = 30
