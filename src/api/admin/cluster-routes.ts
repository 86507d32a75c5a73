import { z } from 'zod'
import { clusterView } from './cluster-schemas.ts'
import { liveMessage } from './live-schemas.ts'
import type { Route } from './route.ts'

/** The cluster as a whole. */
export const clusterRoutes = {
  showCluster: {
    method: 'GET',
    path: '/api/cluster',
    auth: 'read',
    summary: 'Nodes, models and what is wrong, in one answer',
    reply: clusterView,
  },
  watchCluster: {
    method: 'GET',
    path: '/api/live',
    auth: 'read',
    summary: 'Everything there is, and then what changes of it, at most four times a second',
    reply: liveMessage,
    stream: { 'text/event-stream': liveMessage },
  },
  acceptLoss: {
    method: 'POST',
    path: '/api/cluster/accept-loss',
    auth: 'admin',
    summary: 'Nodes that went silent together will not come back: give their replicas up and replace them',
    /** Those that were waited for; none when nothing was. */
    reply: z.object({ nodes: z.array(z.string()) }),
  },
} as const satisfies Record<string, Route>
