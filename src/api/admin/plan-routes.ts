import type { Route } from './route.ts'
import * as schemas from './plan-schemas.ts'

/** The calls about what should be, as a whole. */
export const planRoutes = {
  plan: {
    method: 'POST',
    path: '/api/plan',
    auth: 'read',
    summary: 'What a document would change and what would follow; nothing is applied',
    body: schemas.planInput,
    reply: schemas.planView,
  },
  apply: {
    method: 'POST',
    path: '/api/apply',
    auth: 'admin',
    summary:
      'Make everything as a document says, all or nothing; 409 with the new plan beside the error when the revision no longer fits',
    body: schemas.applyInput,
    reply: schemas.applied,
  },
  exportDocument: {
    method: 'GET',
    path: '/api/export',
    auth: 'read',
    summary: 'All models, rules and settings of nodes as a document',
    reply: schemas.documentView,
  },
  whatIf: {
    method: 'POST',
    path: '/api/whatif',
    auth: 'read',
    summary: 'What would follow if machines were lost or added, or rules asked for more; nothing is applied',
    body: schemas.whatIfInput,
    reply: schemas.planView,
  },
} as const satisfies Record<string, Route>
