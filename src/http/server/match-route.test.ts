import { expect, test } from 'vitest'
import { matchRoute } from './match-route.ts'

const routes = [
  { method: 'GET', path: '/api/nodes' },
  { method: 'GET', path: '/api/nodes/:id' },
  { method: 'DELETE', path: '/api/nodes/:id' },
  { method: 'GET', path: '/api/nodes/scheduling' },
  { method: 'DELETE', path: '/api/nodes/:id/budget' },
  { method: 'DELETE', path: '/api/nodes/scheduling/:name' },
]

test('parameters are decoded, whatever a name holds', () => {
  expect(matchRoute(routes, 'GET', '/api/nodes/a%2Fb%20%23%25')).toEqual({ route: routes[1], params: { id: 'a/b #%' } })
})

test('a literal part wins over a parameter', () => {
  expect(matchRoute(routes, 'GET', '/api/nodes/scheduling')).toEqual({ route: routes[3], params: {} })
})

test('the first literal part decides, so that any name can follow it', () => {
  expect(matchRoute(routes, 'DELETE', '/api/nodes/scheduling/budget')).toEqual({
    route: routes[5],
    params: { name: 'budget' },
  })
  expect(matchRoute(routes, 'DELETE', '/api/nodes/x/budget')).toEqual({ route: routes[4], params: { id: 'x' } })
})

test('another method is told which ones there are', () => {
  expect(matchRoute(routes, 'POST', '/api/nodes/x')).toEqual({ allowed: ['GET', 'DELETE'] })
})

test.each(['/api', '/api/nodes/', '/api/nodes/a/b', '/api/nodes/%zz'])('%s is nowhere', (path) => {
  expect(matchRoute(routes, 'GET', path)).toEqual({ allowed: [] })
})
