import { defineConfig } from 'vite'
import { routeTable } from './route-table.ts'

/** The dashboard, built into ui/dist. Everything is inside: nothing is fetched from elsewhere when it runs. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [routeTable()],
  build: {
    target: 'es2023',
    // Small enough as one piece; a page opens without asking for more.
    modulePreload: false,
    // Inlined files would be data: addresses, which the content security policy does not let in.
    assetsInlineLimit: 0,
    // Directives of libraries for servers, which there are none of here.
    rolldownOptions: { onLog: (level, log, tell) => log.code !== 'MODULE_LEVEL_DIRECTIVE' && tell(level, log) },
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8080', '/v1': 'http://127.0.0.1:8080' } },
})
