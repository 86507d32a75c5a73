import { z } from 'zod'
import * as schemas from './schemas.ts'

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  /**
   * Who may call it: the holder of the admin key, of a join token, the node named in the path (by its signature), or
   * anybody.
   */
  auth: 'admin' | 'join' | 'node' | 'none'
  summary: string
  body?: z.ZodType
  reply: z.ZodType
  /** The reply is a stream of server-sent events, each holding one of `reply`. */
  stream?: true
}

const deleted = z.object({ deleted: z.string() })
const done = z.object({})

/** The admin API as data: the server, the CLI and the OpenAPI document read the same table. */
export const adminRoutes = {
  registerNode: {
    method: 'POST',
    path: '/api/node/register',
    auth: 'join',
    summary: 'A worker presents itself',
    body: schemas.signedRegistration,
    reply: schemas.registered,
  },
  nodeCredentials: {
    method: 'POST',
    path: '/api/node/:id/credentials',
    auth: 'node',
    summary: 'A node asks whether it is approved, and for what it works with',
    reply: schemas.registered,
  },
  deregisterNode: {
    method: 'POST',
    path: '/api/node/:id/deregister',
    auth: 'node',
    summary: 'A node says goodbye: offline until it registers again',
    reply: done,
  },
  listNodes: {
    method: 'GET',
    path: '/api/nodes',
    auth: 'admin',
    summary: 'All nodes, by name',
    reply: z.array(schemas.nodeView),
  },
  getNode: { method: 'GET', path: '/api/nodes/:id', auth: 'admin', summary: 'One node', reply: schemas.nodeView },
  deleteNode: {
    method: 'DELETE',
    path: '/api/nodes/:id',
    auth: 'admin',
    summary: 'Remove a node for good; its worker stops its replicas and ends',
    reply: deleted,
  },
  approveNode: {
    method: 'POST',
    path: '/api/nodes/:id/approve',
    auth: 'admin',
    summary: 'Let a pending node take part',
    reply: schemas.nodeView,
  },
  drainNode: {
    method: 'POST',
    path: '/api/nodes/:id/drain',
    auth: 'admin',
    summary: 'No new requests and replicas for a node; what runs may finish',
    reply: schemas.nodeView,
  },
  resumeNode: {
    method: 'POST',
    path: '/api/nodes/:id/resume',
    auth: 'admin',
    summary: 'Undo a drain',
    reply: schemas.nodeView,
  },
  getLabels: {
    method: 'GET',
    path: '/api/nodes/:id/labels',
    auth: 'admin',
    summary: 'The labels of a node and where each comes from',
    reply: schemas.labelsView,
  },
  putLabels: {
    method: 'PUT',
    path: '/api/nodes/:id/labels',
    auth: 'admin',
    summary: 'Replace all labels that an admin has set',
    body: schemas.labelsInput,
    reply: schemas.labelsView,
  },
  patchLabels: {
    method: 'PATCH',
    path: '/api/nodes/:id/labels',
    auth: 'admin',
    summary: 'Set or (null) remove single labels',
    body: schemas.labelsPatch,
    reply: schemas.labelsView,
  },
  deleteLabel: {
    method: 'DELETE',
    path: '/api/nodes/:id/labels/:key',
    auth: 'admin',
    summary: 'Remove one label that an admin has set',
    reply: schemas.labelsView,
  },
  setSlots: {
    method: 'PUT',
    path: '/api/nodes/:id/max-replicas-per-model',
    auth: 'admin',
    summary: 'Set the slots of a node over what its worker declares',
    body: schemas.slotsInput,
    reply: schemas.nodeView,
  },
  resetSlots: {
    method: 'DELETE',
    path: '/api/nodes/:id/max-replicas-per-model',
    auth: 'admin',
    summary: 'Back to the slots the worker declares',
    reply: schemas.nodeView,
  },
  setBudget: {
    method: 'PUT',
    path: '/api/nodes/:id/vram-budget',
    auth: 'admin',
    summary: 'Set the VRAM that replicas may use on a node, over what its worker declares',
    body: schemas.budgetInput,
    reply: schemas.nodeView,
  },
  resetBudget: {
    method: 'DELETE',
    path: '/api/nodes/:id/vram-budget',
    auth: 'admin',
    summary: 'Back to the budget the worker declares',
    reply: schemas.nodeView,
  },
  listNodeModels: {
    method: 'GET',
    path: '/api/nodes/:id/models',
    auth: 'admin',
    summary: 'The replicas on a node',
    reply: z.array(schemas.replicaView),
  },
  listBackends: {
    method: 'GET',
    path: '/api/nodes/:id/backends',
    auth: 'admin',
    summary: 'The engines a node can run; none on an agent',
    reply: z.array(schemas.backendView),
  },
  listReplicas: {
    method: 'GET',
    path: '/api/replicas',
    auth: 'admin',
    summary: 'All replicas',
    reply: z.array(schemas.replicaView),
  },
  listModels: {
    method: 'GET',
    path: '/api/models',
    auth: 'admin',
    summary: 'All models',
    reply: z.array(schemas.modelView),
  },
  saveModel: {
    method: 'POST',
    path: '/api/models',
    auth: 'admin',
    summary: 'Add or change a model',
    body: schemas.modelInput,
    reply: schemas.modelView,
  },
  deleteModel: {
    method: 'DELETE',
    path: '/api/models/:name',
    auth: 'admin',
    summary: 'Remove a model',
    reply: deleted,
  },
  listRules: {
    method: 'GET',
    path: '/api/nodes/scheduling',
    auth: 'admin',
    summary: 'All rules',
    reply: z.array(schemas.ruleView),
  },
  saveRule: {
    method: 'POST',
    path: '/api/nodes/scheduling',
    auth: 'admin',
    summary: 'Add or change the rule of a model',
    body: schemas.ruleInput,
    reply: schemas.ruleView,
  },
  deleteRule: {
    method: 'DELETE',
    path: '/api/nodes/scheduling/:name',
    auth: 'admin',
    summary: 'Remove the rule of a model',
    reply: deleted,
  },
  listTokens: {
    method: 'GET',
    path: '/api/tokens',
    auth: 'admin',
    summary: 'All join tokens; never their text',
    reply: z.array(schemas.tokenView),
  },
  createToken: {
    method: 'POST',
    path: '/api/tokens',
    auth: 'admin',
    summary: 'Make a join token; its text is shown this once',
    body: schemas.tokenInput,
    reply: schemas.tokenCreated,
  },
  rotateToken: {
    method: 'POST',
    path: '/api/tokens/rotate',
    auth: 'admin',
    summary: 'Replace the default join token of this frontend; the old one no longer works',
    reply: schemas.tokenCreated,
  },
  revokeToken: {
    method: 'DELETE',
    path: '/api/tokens/:id',
    auth: 'admin',
    summary: 'A join token no longer works; nodes that joined with it stay',
    reply: schemas.tokenView,
  },
  streamEvents: {
    method: 'GET',
    path: '/api/events',
    auth: 'admin',
    summary: 'What happens, as it happens; after the event named by Last-Event-ID or ?after=',
    reply: schemas.eventView,
    stream: true,
  },
  openapi: {
    method: 'GET',
    path: '/api/openapi.json',
    auth: 'none',
    summary: 'This API as an OpenAPI document',
    reply: z.record(z.string(), z.unknown()),
  },
} as const satisfies Record<string, Route>

export type AdminRoutes = typeof adminRoutes
export type AdminRouteName = keyof AdminRoutes
export type AdminBody<N extends AdminRouteName> = AdminRoutes[N] extends { body: infer B extends z.ZodType }
  ? z.infer<B>
  : undefined
export type AdminReply<N extends AdminRouteName> = z.infer<AdminRoutes[N]['reply']>
