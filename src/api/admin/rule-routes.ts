import { z } from 'zod'
import { deleted, ifUnchanged, type Route } from './route.ts'
import { ruleInput, ruleView } from './rule-schemas.ts'

/** The calls about rules. */
export const ruleRoutes = {
  listRules: {
    method: 'GET',
    path: '/api/nodes/scheduling',
    auth: 'read',
    summary: 'All rules, and whether they are met',
    reply: z.array(ruleView),
  },
  saveRule: {
    method: 'POST',
    path: '/api/nodes/scheduling',
    auth: 'admin',
    summary: 'Add the rule of a model, or replace it whole',
    query: ifUnchanged,
    body: ruleInput,
    reply: ruleView,
  },
  getRule: {
    method: 'GET',
    path: '/api/nodes/scheduling/:name',
    auth: 'read',
    summary: 'The rule of a model, and whether it is met',
    reply: ruleView,
  },
  deleteRule: {
    method: 'DELETE',
    path: '/api/nodes/scheduling/:name',
    auth: 'admin',
    summary: 'Remove the rule of a model',
    reply: deleted,
  },
} as const satisfies Record<string, Route>
