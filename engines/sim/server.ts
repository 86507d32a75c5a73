import { createEngineServer, routeOf, type Call, type EngineServer } from '../lib/server.ts'
import { routesOf, type Route, type RouteDeps } from './routes.ts'

export function createSimServer(deps: RouteDeps): EngineServer {
  const routes = routesOf(deps)
  return createEngineServer((call) => handle(routes, deps, call), deps.log)
}

async function handle(routes: Map<string, Route>, { engine, loading }: RouteDeps, call: Call): Promise<void> {
  const { signal } = call
  const route = routeOf(routes, call)
  if (route.kind === 'sim') return route.answer(call)
  if (route.kind === 'inference') {
    engine.counters.requests += 1
    signal.addEventListener('abort', () => (engine.counters.aborted += 1), { once: true })
    if (loading.ready) engine.faults.countRequest()
  }
  await engine.faults.passed(signal)
  if (signal.aborted) return
  if (route.kind === 'inference') engine.admit(loading.ready)
  return route.answer(call)
}
