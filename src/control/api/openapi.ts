import { z } from 'zod'
import { adminRoutes, type Route } from '../../api/admin/routes.ts'
import * as schemas from '../../api/admin/schemas.ts'
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
  admin: { type: 'http', scheme: 'bearer', description: 'The admin key' },
  join: { type: 'http', scheme: 'bearer', description: 'A join token' },
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
const named = new Map<z.ZodType, { id: string; io: 'input' | 'output' }>()
for (const [name, schema] of Object.entries(schemas)) {
  if (!(schema instanceof z.ZodType)) continue
  const isBody = /Input$|Patch$|Registration$/.test(name)
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

function operation(operationId: string, route: Route): Json {
  const content = (type: string, schema: z.ZodType, io: 'input' | 'output'): Json => ({
    [type]: { schema: schemaOf(schema, io) },
  })
  return {
    operationId,
    summary: route.summary,
    tags: [route.path.split('/')[2]],
    security: route.auth === 'none' ? [] : [{ [route.auth]: [] }],
    parameters: parameters(route),
    ...(route.body && { requestBody: { required: true, content: content('application/json', route.body, 'input') } }),
    responses: {
      200: {
        description: route.stream ? 'Server-sent events; the data of each is one of these' : 'Done',
        content: content(route.stream ? 'text/event-stream' : 'application/json', route.reply, 'output'),
      },
      ...Object.fromEntries(failures(route).map((code) => [errorTable[code].status, failure(code)])),
    },
  }
}

function parameters({ path, stream }: Route): Json[] {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({ name, in: 'path', required: true, ...TEXT }))
  const number = { schema: { type: 'integer', minimum: 0 }, description: 'The last event you have seen' }
  const resume = [
    { name: 'after', in: 'query', ...number },
    { name: 'Last-Event-ID', in: 'header', ...number },
  ]
  return stream ? [...inPath, ...resume] : inPath
}

const TEXT = { schema: { type: 'string' } }

function failures({ auth, body, path, method, stream }: Route): ErrorCode[] {
  const codes: ErrorCode[] = []
  if (body || stream) codes.push('bad_request')
  if (auth !== 'none') codes.push('unauthorized')
  if (auth === 'node') codes.push('forbidden')
  if (path.includes(':')) codes.push('not_found')
  if (auth === 'join' || (auth === 'admin' && method !== 'GET')) codes.push('conflict')
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
