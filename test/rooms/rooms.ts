/** One room of `src`. */
export interface Room {
  /** The rooms it may import; `core/lib` is that folder alone. */
  imports: 'all' | readonly string[]
  /** Its files that other rooms may import; `nouns/*` is every file of a folder. */
  doors: 'all' | readonly string[]
}

/** The house. A room that wants to import one more, or to be entered by one more file, says so here, and why in the commit. */
export const rooms: Record<string, Room> = {
  app: { imports: 'all', doors: ['commands/*'] },
  core: { imports: [], doors: 'all' },
  api: { imports: ['core'], doors: 'all' },
  platform: { imports: ['core/lib'], doors: 'all' },
  http: { imports: ['platform', 'core/lib'], doors: ['server.ts', 'exchange.ts', 'proxy.ts', 'client.ts'] },
  store: { imports: ['core', 'api', 'platform'], doors: ['sql.ts', 'database.ts', 'nouns/*', 'world/*'] },
  bus: {
    imports: ['core', 'api', 'platform'],
    doors: ['bus.ts', 'connect.ts', 'hold-connection.ts', 'moving-bus.ts', 'nkey.ts', 'broker/broker.ts'],
  },
  'model-files': {
    imports: ['core', 'api', 'platform', 'http'],
    doors: [
      'source/source.ts',
      'source/reach.ts',
      'source/hub.ts',
      'header/describe.ts',
      'header/inspect.ts',
      'header/local-model.ts',
      'header/remote-model.ts',
    ],
  },
  gateway: {
    imports: ['core', 'api', 'platform', 'http', 'bus'],
    doors: ['start-gateway.ts', 'access/guard.ts', 'access/api-errors.ts', 'table/saved-table.ts'],
  },
  control: {
    imports: ['core', 'api', 'platform', 'http', 'bus', 'store', 'model-files'],
    doors: ['start-control.ts', 'api/admin-api.ts', 'changes/event-feed.ts', 'watch/conditions.ts'],
  },
  worker: {
    imports: ['core', 'api', 'platform', 'http', 'bus', 'model-files'],
    doors: ['start-worker.ts', 'membership/identity.ts', 'hardware/probe.ts'],
  },
  cli: {
    imports: ['core', 'api', 'platform', 'http', 'model-files'],
    doors: ['command.ts', 'config/*', 'terminal/*', 'banner.ts', 'help.ts', 'parse-arguments.ts'],
  },
}

/** Folders outside of src to which the same limit on files applies. */
export const PROGRAMS = ['engines', 'ui/src', 'sim', 'bench', 'fuzz', 'test', 'scripts']
export const MAX_FILES_FLAT = 25
export const MAX_README_LINES = 15
