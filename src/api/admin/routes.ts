import { z } from 'zod'
import { decisionRecord } from '../decision-record.ts'
import { clusterRoutes } from './cluster-routes.ts'
import { metricRoutes } from './metric-routes.ts'
import { modelRoutes } from './model-routes.ts'
import { planRoutes } from './plan-routes.ts'
import { deleted, type Route } from './route.ts'
import { nodeExplanation } from './explain-schemas.ts'
import { ruleRoutes } from './rule-routes.ts'
import * as schemas from './schemas.ts'
import { sessionRoutes } from './session-routes.ts'

const done = z.object({})

/** The admin API as data: the server, the CLI and the OpenAPI document read the same table. */
export const adminRoutes = {
  registerNode: {
    method: 'POST',
    path: '/api/node/register',
    auth: 'join',
    summary: 'A worker presents itself',
    body: schemas.signedRegistration,
    // Hardware with 64 devices and all labels that a node may have take a quarter of it.
    mostBodyBytes: 256 * 1024,
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
    // Workers of the release before say nothing.
    body: schemas.goodbye.optional(),
    mostBodyBytes: 4096,
    reply: done,
  },
  nodeFile: {
    method: 'GET',
    path: '/api/node/:id/files/:path',
    auth: 'node',
    summary:
      'An approved node fetches a file below the models folder of the frontend, or the list of files in a folder',
    reply: z.unknown(),
    stream: { 'application/octet-stream': z.unknown(), 'application/json': schemas.folderView },
  },
  listNodes: {
    method: 'GET',
    path: '/api/nodes',
    auth: 'read',
    summary: 'All nodes, by name',
    reply: z.array(schemas.nodeView),
  },
  getNode: { method: 'GET', path: '/api/nodes/:id', auth: 'read', summary: 'One node', reply: schemas.nodeView },
  deleteNode: {
    method: 'DELETE',
    path: '/api/nodes/:id',
    auth: 'admin',
    summary: 'Remove a node for good; its worker stops its replicas and ends',
    reply: deleted,
  },
  explainNode: {
    method: 'GET',
    path: '/api/nodes/:id/explain',
    auth: 'read',
    summary: 'What a node has left, which models it would take, and why not the others',
    reply: nodeExplanation,
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
    auth: 'read',
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
    auth: 'read',
    summary: 'The replicas on a node',
    reply: z.array(schemas.replicaView),
  },
  unloadModel: {
    method: 'POST',
    path: '/api/nodes/:id/models/unload',
    auth: 'admin',
    summary: 'Stop one replica, or all replicas of a model, on a node',
    body: schemas.unloadInput,
    reply: schemas.unloaded,
  },
  deleteModelFiles: {
    method: 'POST',
    path: '/api/nodes/:id/models/delete',
    auth: 'admin',
    summary: 'Delete the files of a model from a node; its replicas are unloaded first',
    body: schemas.deleteFilesInput,
    reply: schemas.filesDeleted,
    asks: 'bus',
  },
  listBackends: {
    method: 'GET',
    path: '/api/nodes/:id/backends',
    auth: 'read',
    summary: 'The engines of a node: whether they can run there, and what is being done to them; none on an agent',
    reply: z.array(schemas.backendView),
  },
  installBackend: {
    method: 'POST',
    path: '/api/nodes/:id/backends/install',
    auth: 'admin',
    summary: 'Install an engine on a node; the list shows how far it is',
    body: schemas.installInput,
    reply: schemas.backendView,
    asks: 'bus',
  },
  upgradeBackend: {
    method: 'POST',
    path: '/api/nodes/:id/backends/upgrade',
    auth: 'admin',
    summary: 'Install another version of an engine; its replicas are stopped first',
    body: schemas.installInput,
    reply: schemas.backendView,
    asks: 'bus',
  },
  deleteBackend: {
    method: 'POST',
    path: '/api/nodes/:id/backends/delete',
    auth: 'admin',
    summary: 'Delete an installed engine; its replicas are stopped first',
    body: schemas.deleteBackendInput,
    reply: schemas.backendView,
    asks: 'bus',
  },
  listLogs: {
    method: 'GET',
    path: '/api/nodes/:id/backend-logs',
    auth: 'read',
    summary: 'The models that have logs on a node',
    reply: schemas.logEntries,
    asks: 'data port',
  },
  readLogs: {
    method: 'GET',
    path: '/api/nodes/:id/backend-logs/:key',
    auth: 'read',
    summary:
      'The log of a replica (model#index), or of all replicas of a model; with follow=1 also what is still to come',
    query: schemas.logQuery,
    reply: schemas.logLines,
    stream: { 'application/json': schemas.logLines, 'text/event-stream': schemas.logLine },
    asks: 'data port',
  },
  ...metricRoutes,
  listReplicas: {
    method: 'GET',
    path: '/api/replicas',
    auth: 'read',
    summary: 'All replicas',
    reply: z.array(schemas.replicaView),
  },
  restartReplica: {
    method: 'POST',
    path: '/api/replicas/:id/restart',
    auth: 'admin',
    summary: 'Stop a replica and start one in its place; what runs may finish first',
    body: schemas.restartInput,
    reply: schemas.restarted,
  },
  ...modelRoutes,
  ...ruleRoutes,
  ...planRoutes,
  ...clusterRoutes,
  ...sessionRoutes,
  listTokens: {
    method: 'GET',
    path: '/api/tokens',
    auth: 'read',
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
  listKeys: {
    method: 'GET',
    path: '/api/keys',
    auth: 'read',
    summary: 'All API keys; never their text',
    reply: z.array(schemas.keyView),
  },
  createKey: {
    method: 'POST',
    path: '/api/keys',
    auth: 'admin',
    summary: 'Make an API key; its text is shown this once',
    body: schemas.keyInput,
    reply: schemas.keyCreated,
  },
  revokeKey: {
    method: 'DELETE',
    path: '/api/keys/:id',
    auth: 'admin',
    summary: 'An API key no longer works',
    reply: schemas.keyView,
  },
  rotateKey: {
    method: 'POST',
    path: '/api/keys/:id/rotate',
    auth: 'admin',
    summary: 'Another API key in place of one; the old one works for a while longer',
    body: schemas.rotateInput,
    reply: schemas.keyCreated,
  },
  rotateAdminKey: {
    method: 'POST',
    path: '/api/admin-key/rotate',
    auth: 'admin',
    summary:
      'Replace the admin key of this frontend; the old one no longer works, nor do sessions that an admin key began',
    reply: schemas.adminKeyCreated,
  },
  admitGateway: {
    method: 'POST',
    path: '/api/gateways/credentials',
    auth: 'admin',
    summary: 'A gateway process asks for its place on the bus',
    body: schemas.gatewayInput,
    mostBodyBytes: 16 * 1024,
    reply: schemas.gatewayCredentials,
  },
  explainRequest: {
    method: 'GET',
    path: '/api/requests/:id',
    auth: 'read',
    summary: 'How a request was routed, by the id in its X-Request-Id header',
    reply: decisionRecord,
    asks: 'bus',
  },
  streamEvents: {
    method: 'GET',
    path: '/api/events',
    auth: 'read',
    summary: 'What happens, as it happens; after the event named by Last-Event-ID or ?after=',
    query: schemas.eventsQuery,
    reply: schemas.eventView,
    stream: { 'text/event-stream': schemas.eventView },
  },
  listEvents: {
    method: 'GET',
    path: '/api/events/history',
    auth: 'read',
    summary: 'What happened, the newest first; of one model or node, or all',
    query: schemas.historyQuery,
    reply: z.array(schemas.eventView),
  },
  exportStore: {
    method: 'GET',
    path: '/api/store/export',
    auth: 'admin',
    summary:
      'The whole store as flotilla db export writes it, from the database that the frontend has open; with the admin key of the frontend only',
    reply: z.unknown(),
    stream: { 'application/x-ndjson': z.unknown() },
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
/** Those that are written as they come. */
export type AdminStreamName = {
  [N in AdminRouteName]: AdminRoutes[N] extends { stream: object } ? N : never
}[AdminRouteName]
export type AdminReply<N extends AdminRouteName> = z.infer<AdminRoutes[N]['reply']>
