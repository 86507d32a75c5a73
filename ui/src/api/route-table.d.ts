declare module 'virtual:route-table' {
  import type { AdminRouteName } from '../../../src/api/admin/routes.ts'
  export const routeTable: Readonly<Record<AdminRouteName, { method: string; path: string }>>
}
