import { z } from 'zod'
import type { Route } from './route.ts'

/** The calls for metrics collectors. */
export const metricRoutes = {
  nodeMetrics: {
    method: 'GET',
    path: '/api/nodes/:id/metrics',
    auth: 'read',
    summary: 'What the worker of a node counts, as Prometheus reads it',
    reply: z.string(),
    stream: { 'text/plain': z.string() },
    asks: 'data port',
  },
  metricTargets: {
    method: 'GET',
    path: '/api/metrics/targets',
    auth: 'read',
    summary: 'All nodes with metrics at this frontend, in the format of Prometheus HTTP service discovery',
    reply: z.array(z.object({ targets: z.array(z.string()), labels: z.record(z.string(), z.string()) })),
  },
} as const satisfies Record<string, Route>
