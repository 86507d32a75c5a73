import { z } from 'zod'
import * as clusterSchemas from '../../api/admin/cluster-schemas.ts'
import * as explainSchemas from '../../api/admin/explain-schemas.ts'
import * as liveSchemas from '../../api/admin/live-schemas.ts'
import * as modelSchemas from '../../api/admin/model-schemas.ts'
import * as planSchemas from '../../api/admin/plan-schemas.ts'
import type { Route } from '../../api/admin/route.ts'
import { adminRoutes } from '../../api/admin/routes.ts'
import * as ruleSchemas from '../../api/admin/rule-schemas.ts'
import * as schemas from '../../api/admin/schemas.ts'
import { loadStatus } from '../../api/load-status.ts'
import { errorTable, type ErrorCode } from '../../platform/errors.ts'
import { version } from '../../platform/version.ts'

type Json = Record<string, unknown>

let made: Json | undefined

/** The admin API as an OpenAPI 3.1 document, from the very table and schemas that the server uses. Made once. */
export function openapiDocument(): Json {
  made ??= {
    openapi: '3.1.0',
    info: { title: 'Flotilla', version, description: 'The admin API.' },
    paths: paths(),
    components: {
      schemas: { ...components('input'), ...components('output'), Error: plain(z.toJSONSchema(errorBody)) },
      securitySchemes: SECURITY,
    },
  }
  return made
}

const SECURITY = {
  admin: { type: 'http', scheme: 'bearer', description: 'The admin key, or an API key with the scope admin' },
  join: { type: 'http', scheme: 'bearer', description: 'A join token' },
  read: { type: 'http', scheme: 'bearer', description: 'The admin key, or an API key with the scope admin or read' },
  node: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description:
      'Node <time in ms>.<signature>: signed with the key of the node over the method, the path and the time',
  },
}

const errorBody = z.object({
  error: z.looseObject({
    message: z.string(),
    type: z.string(),
    code: z.enum(Object.keys(errorTable) as [ErrorCode, ...ErrorCode[]]),
    param: z.string().nullable(),
  }),
})

/** Bodies are described as they are sent (what has a default may be left out), answers as they arrive. */
const every = {
  ...schemas,
  ...modelSchemas,
  ...ruleSchemas,
  ...planSchemas,
  ...clusterSchemas,
  ...explainSchemas,
  ...liveSchemas,
  loadStatus,
}
const named = new Map<z.ZodType, { id: string; io: 'input' | 'output' }>()
for (const [name, schema] of Object.entries(every)) {
  if (!(schema instanceof z.ZodType)) continue
  const isBody = /Input$|Patch$|Change$|Registration$/.test(name)
  named.set(schema, { id: name[0]!.toUpperCase() + name.slice(1), io: isBody ? 'input' : 'output' })
}

const refTo = (id: string): string => `#/components/schemas/${id}`

function components(io: 'input' | 'output'): Record<string, Json> {
  const registry = z.registry<{ id: string }>()
  for (const [schema, { id, io: its }] of named) if (its === io) registry.add(schema, { id })
  const { schemas: all } = z.toJSONSchema(registry, { io, uri: refTo })
  return Object.fromEntries(Object.entries(all).map(([id, schema]) => [id, plain(schema as Json)]))
}

function paths(): Record<string, Json> {
  const all: Record<string, Json> = {}
  for (const [operationId, route] of Object.entries(adminRoutes) as [string, Route][]) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    all[path] = { ...all[path], [route.method.toLowerCase()]: operation(operationId, route) }
  }
  return all
}

const EVENTS = 'text/event-stream'
const BYTES = 'application/octet-stream'

function operation(operationId: string, route: Route): Json {
  const kinds = route.stream ?? { 'application/json': route.reply }
  const content = (schemas: Readonly<Record<string, z.ZodType>>, io: 'input' | 'output'): Json =>
    Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema: schemaOf(schema, io) }]))
  const replies = content(kinds, 'output')
  return {
    operationId,
    summary: route.summary,
    tags: [route.path.split('/')[2]],
    security: route.auth === 'none' ? [] : [{ [route.auth]: [] }],
    parameters: parameters(route),
    ...(route.body && {
      requestBody: { required: true, content: content({ 'application/json': route.body }, 'input') },
    }),
    responses: {
      200: {
        description: EVENTS in kinds ? 'Done; the data of each server-sent event is one of these' : 'Done',
        content: replies,
      },
      ...(BYTES in kinds && ranges(replies)),
      ...Object.fromEntries(failures(route).map((code) => [errorTable[code].status, failure(code)])),
    },
  }
}

/** A part of a file, and a part that is not there. */
function ranges(replies: Json): Json {
  return {
    206: { description: 'The part that Range asked for', content: { [BYTES]: replies[BYTES] } },
    416: { ...failure('bad_request'), description: 'The range begins beyond the end' },
  }
}

function parameters({ path, query, stream = {} }: Route): Json[] {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({ name, in: 'path', required: true, ...TEXT }))
  const asked = query ? (plain(z.toJSONSchema(query)).properties as Record<string, Json>) : {}
  const inQuery = Object.entries(asked).map(([name, schema]) => ({ name, in: 'query', schema }))
  const seen = { schema: { type: 'integer', minimum: 0 }, description: 'The last one you have seen; instead of after' }
  return [
    ...inPath,
    ...inQuery,
    ...(EVENTS in stream ? [{ name: 'Last-Event-ID', in: 'header', ...seen }] : []),
    ...(BYTES in stream ? [{ name: 'Range', in: 'header', ...TEXT }] : []),
  ]
}

const TEXT = { schema: { type: 'string' } }

function failures({ auth, body, path, method, query, asks }: Route): ErrorCode[] {
  const codes: ErrorCode[] = []
  if (body || query) codes.push('bad_request')
  if (auth !== 'none') codes.push('unauthorized')
  if (auth === 'node') codes.push('forbidden')
  if (path.includes(':')) codes.push('not_found')
  if (auth === 'join' || (auth === 'admin' && method !== 'GET')) codes.push('conflict')
  if (asks) codes.push(asks === 'bus' ? 'unavailable' : 'bad_gateway')
  return codes
}

function failure(code: ErrorCode): Json {
  const description = errorTable[code].type
  return { description, content: { 'application/json': { schema: { $ref: refTo('Error') } } } }
}

/** A reference where the schema has a name. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const known = named.get(schema)
  if (known) return { $ref: refTo(known.id) }
  if (schema instanceof z.ZodArray) return { type: 'array', items: schemaOf(schema.element as z.ZodType, io) }
  return plain(z.toJSONSchema(schema, { io }))
}

/** Without what only a schema on its own needs. */
function plain({ $schema: _schema, $id: _id, id: _name, ...rest }: Json): Json {
  return rest
}
