import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, onTestFinished, test } from 'vitest'
import { adminRoutes } from '../../api/admin/routes.ts'
import { openDatabase } from '../../store/database.ts'
import { ControlScene } from '../../../test/support/control/control-scene.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { openapiDocument } from './openapi.ts'

interface Operation {
  operationId: string
  summary: string
  security: Record<string, never[]>[]
  parameters: { name: string; in: string }[]
  requestBody?: object
  responses: Record<string, { content: object }>
}
interface Document {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object>; securitySchemes: Record<string, object> }
}

const document = openapiDocument() as unknown as Document
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
)

test('the document is valid OpenAPI', async () => {
  expect(await new Validator().validate(structuredClone(openapiDocument()))).toEqual({ valid: true })
})

test('every route is there once, with its parameters, body, answers and authorization', () => {
  const described = operations.map(({ operationId, path, method, parameters, requestBody, security, responses }) => ({
    operationId,
    route: `${method.toUpperCase()} ${path}`,
    inPath: parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`),
    hasBody: requestBody !== undefined,
    auth: security.flatMap((one) => Object.keys(one)),
    statuses: Object.keys(responses).includes('200'),
  }))
  const wanted = Object.entries(adminRoutes).map(([operationId, route]) => {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    return {
      operationId,
      route: `${route.method} ${path}`,
      inPath: path.match(/\{\w+\}/g) ?? [],
      hasBody: 'body' in route,
      auth: route.auth === 'none' ? [] : [route.auth],
      statuses: true,
    }
  })
  const byId = (a: { operationId: string }, b: { operationId: string }) => (a.operationId < b.operationId ? -1 : 1)
  expect(described.toSorted(byId)).toEqual(wanted.toSorted(byId))
})

test('every reference leads somewhere, and nothing is referred to in another way', () => {
  const refs = new Set(
    JSON.stringify(document)
      .match(/"\$ref":"[^"]+"/g)
      ?.map((text) => text.slice(8, -1)),
  )
  expect(refs.size).toBeGreaterThan(10)
  const known = new Set(Object.keys(document.components.schemas).map((id) => `#/components/schemas/${id}`))
  expect([...refs].filter((ref) => !known.has(ref))).toEqual([])
  expect(JSON.stringify(document)).not.toMatch(/"\$(schema|id|defs)"/)
})

test('every kind of authorization, and every error, is described', () => {
  const used = new Set(operations.flatMap(({ security }) => security.flatMap((one) => Object.keys(one))))
  expect([...used].toSorted()).toEqual(Object.keys(document.components.securitySchemes).toSorted())
  const getNode = operations.find(({ operationId }) => operationId === 'getNode')!
  expect(Object.keys(getNode.responses)).toEqual(['200', '401', '404'])
  const goodbye = operations.find(({ operationId }) => operationId === 'deregisterNode')!
  expect(Object.keys(goodbye.responses)).toEqual(['200', '400', '401', '403', '404'])
})

test('what is written as it comes says what it may be, and how to go on', () => {
  const of = (id: string) => operations.find(({ operationId }) => operationId === id)!
  const shown = (id: string) => ({
    types: Object.keys(of(id).responses['200']!.content),
    given: of(id)
      .parameters.filter((parameter) => parameter.in !== 'path')
      .map(({ name }) => name),
    statuses: Object.keys(of(id).responses),
  })
  expect(shown('streamEvents')).toEqual({
    types: ['text/event-stream'],
    given: ['after', 'Last-Event-ID'],
    statuses: ['200', '400', '401'],
  })
  expect(shown('readLogs')).toEqual({
    types: ['application/json', 'text/event-stream'],
    given: ['after', 'limit', 'stream', 'grep', 'follow', 'Last-Event-ID'],
    statuses: ['200', '400', '401', '404', '502'],
  })
  expect(shown('nodeFile')).toEqual({
    types: ['application/octet-stream', 'application/json'],
    given: ['Range'],
    statuses: ['200', '206', '401', '403', '404', '416'],
  })
  const limit = of('readLogs').parameters.find(({ name }) => name === 'limit')
  expect(limit).toEqual({ name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 10_000 } })
})

test('calls that ask a node or the gateways may find them away', () => {
  const statuses = (id: string) => Object.keys(operations.find(({ operationId }) => operationId === id)!.responses)
  expect(statuses('unloadModel')).not.toContain('503')
  for (const id of ['installBackend', 'upgradeBackend', 'deleteBackend', 'deleteModelFiles', 'explainRequest']) {
    expect(statuses(id)).toContain('503')
  }
  expect(statuses('listLogs')).toContain('502')
})

test('what has a default may be left out of a body', () => {
  expect(document.components.schemas['ModelInput']).toMatchObject({ required: ['name', 'engine'] })
  expect(document.components.schemas['ModelView']).toMatchObject({ type: 'object' })
})

test('it is served to anybody', async () => {
  const db = await openDatabase({ file: join(tempFolder(), 'flotilla.db') })
  const scene = await ControlScene.start(db)
  onTestFinished(async () => {
    await scene.end()
    await db.close()
  })
  const { status, body } = await scene.call('GET', '/api/openapi.json')
  expect(status).toBe(200)
  expect(body).toEqual(JSON.parse(JSON.stringify(document)))
})
