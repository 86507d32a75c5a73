import { z } from 'zod'
import { loadStatus } from '../load-status.ts'
import * as schemas from './model-schemas.ts'
import type { Route } from './route.ts'
import { unloaded } from './schemas.ts'

/** The calls about models. */
export const modelRoutes = {
  listModels: {
    method: 'GET',
    path: '/api/models',
    auth: 'read',
    summary: 'All models',
    reply: z.array(schemas.modelView),
  },
  saveModel: {
    method: 'POST',
    path: '/api/models',
    auth: 'admin',
    summary: 'Add a model; one that exists and differs is refused, unless replace=true',
    query: schemas.addQuery,
    body: schemas.modelAddition,
    reply: schemas.modelSaved,
  },
  getModel: { method: 'GET', path: '/api/models/:name', auth: 'read', summary: 'One model', reply: schemas.modelView },
  putModel: {
    method: 'PUT',
    path: '/api/models/:name',
    auth: 'admin',
    summary: 'Add or change a model; the answer says what follows for its replicas',
    query: schemas.changeQuery,
    body: schemas.modelChange,
    reply: schemas.modelSaved,
  },
  deleteModel: {
    method: 'DELETE',
    path: '/api/models/:name',
    auth: 'admin',
    summary: 'Remove a model, and the rule that was made together with it',
    reply: schemas.modelDeleted,
  },
  inspectModel: {
    method: 'POST',
    path: '/api/models/inspect',
    auth: 'admin',
    summary: 'What the files of a source say: read from where nodes would get them, or by a node that has them',
    body: schemas.inspectInput,
    reply: schemas.inspected,
  },
  pullModel: {
    method: 'POST',
    path: '/api/nodes/:id/models/pull',
    auth: 'admin',
    summary:
      'Have a node fetch the files of a model before anybody asks for it. Asked again with the same pull_id it says how far it is',
    body: schemas.pullInput,
    reply: schemas.pulled,
    asks: 'bus',
  },
  loadModel: {
    method: 'POST',
    path: '/api/models/:name/load',
    auth: 'admin',
    summary: 'Load a model now, as its first request would; the answer says how far it is',
    reply: loadStatus,
  },
  unloadModelEverywhere: {
    method: 'POST',
    path: '/api/models/:name/unload',
    auth: 'admin',
    summary: 'Stop all replicas of a model; its rule, if it has one, starts them again',
    body: schemas.unloadModelInput,
    reply: unloaded,
  },
  loadStatus: {
    method: 'GET',
    path: '/api/models/:name/load-status',
    auth: 'read',
    summary: 'How far a model is on its way to a ready replica',
    reply: loadStatus,
  },
  explainModel: {
    method: 'GET',
    path: '/api/models/:name/explain',
    auth: 'read',
    summary: 'Where a model runs, where it could, and why not elsewhere',
    reply: schemas.modelExplanation,
  },
} as const satisfies Record<string, Route>
