import { expect, test } from 'vitest'
import { aGateway, aRoutedModel, aRouteMessage, aSnapshot } from '../../../test/support/gateway/gateway-stage.ts'
import { rawClient } from '../../../test/support/http/raw-client.ts'
import { ClientTls } from '../../platform/tls/client-tls.ts'
import { LiveTable } from '../table/routing-table.ts'
import { replicaAt } from '../table/replica-at.ts'

const EVIL = 'a\r\nX-Evil: 1\r\n\r\nGET /stolen HTTP/1.1\r\n'

test('header injection: whatever a model is called, it adds no header to the requests of a gateway', () => {
  const table = new LiveTable()
  table.replace(aSnapshot({ models: [aRoutedModel({ name: EVIL })], routes: [aRouteMessage(0, { model_name: EVIL })] }))
  const [route] = table.routesOf(EVIL)
  const { lines } = replicaAt(route!, new ClientTls())!
  expect(lines.split('\r\n').map((line) => line.split(':')[0])).toEqual([
    'host',
    'authorization',
    'x-flotilla-model',
    '',
  ])
})

test('header injection: an address of a node that would be more than one is none', () => {
  const table = new LiveTable()
  table.replace(aSnapshot({ routes: [aRouteMessage(0, { address: `127.0.0.1:1\r\nX-Evil: 1` })] }))
  expect(replicaAt(table.routesOf('m')[0]!, new ClientTls())).toBeUndefined()
})

test('header injection: what a client says comes back as one header, or not at all', async () => {
  const heard: string[][] = []
  const { url } = await aGateway([
    (request, response) => {
      heard.push(request.rawHeaders)
      response.end('{}')
    },
  ])
  const body = JSON.stringify({ model: 'm' })
  const head = (id: string): string =>
    `POST /v1/x HTTP/1.1\r\nHost: a\r\nx-request-id: ${id}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
  for (const id of ['a\tb', 'a\u0085X-Evil: 1', 'x'.repeat(200), 'a%0d%0aX-Evil: 1', 'ok']) {
    const client = await rawClient(url)
    client.send(Buffer.from(head(id), 'latin1'))
    const answer = await client.closes()
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    expect(answer).not.toMatch(/^x-evil/im)
  }
  expect(heard.flat().filter((name) => /^x-evil$/i.test(name))).toEqual([])
  expect(heard).toHaveLength(5)
})

test('header injection: a name that nobody serves is quoted in JSON, and nowhere else', async () => {
  const { ask } = await aGateway([])
  const response = await ask({ model: EVIL })
  expect(response.status).toBe(404)
  expect(response.headers.get('x-evil')).toBeNull()
  expect(await response.text()).not.toContain('\r\nX-Evil')
})
