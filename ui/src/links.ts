/** Addresses of pages. Names of models may hold anything, so they are written for an address here and nowhere else. */
const part = encodeURIComponent

export const linkTo = {
  node: (id: string): string => `/nodes/${part(id)}`,
  model: (name: string): string => `/models/${part(name)}`,
  editModel: (name: string): string => `/models/${part(name)}/edit`,
  /** The form for a new rule of a model, or its rule. */
  rule: (modelName: string): string => `/rules?model=${part(modelName)}`,
  /** The key of a replica (`model#0`), or a model for all its replicas on the node. */
  logs: (nodeId: string, key: string): string => `/logs/${part(nodeId)}/${part(key)}`,
  whyModel: (name: string): string => `/why/models/${part(name)}`,
  whyNode: (id: string): string => `/why/nodes/${part(id)}`,
  whyRequest: (id: string): string => `/why/requests/${part(id)}`,
  playground: (modelName: string): string => `/playground?model=${part(modelName)}`,
} as const
