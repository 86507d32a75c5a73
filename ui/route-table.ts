import type { Plugin } from 'vite'
import { adminRoutes } from '../src/api/admin/routes.ts'

const NAME = 'virtual:route-table'

/**
 * The method and path of every admin call, taken from the table of routes when the dashboard is built: with the table
 * itself all schemas would be in the page, which needs a few of them, and those only in its forms.
 */
export function routeTable(): Plugin {
  return {
    name: 'route-table',
    resolveId: (id) => (id === NAME ? `\0${NAME}` : undefined),
    load(id) {
      if (id !== `\0${NAME}`) return undefined
      const table = Object.entries(adminRoutes).map(([name, { method, path }]) => [name, { method, path }])
      return `export const routeTable = ${JSON.stringify(Object.fromEntries(table))}`
    },
  }
}
