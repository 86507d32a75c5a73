export interface RoutePattern {
  method: string
  path: string
}

export interface RouteMatch<T> {
  route: T
  /** The `:name` parts of the path, decoded. */
  params: Record<string, string>
}

/** Finds the route for a request, or says whether the path exists for other methods. Literal parts win over `:name`, the earlier the better. */
export function matchRoute<T extends RoutePattern>(
  routes: readonly T[],
  method: string,
  path: string,
): RouteMatch<T> | { allowed: string[] } {
  const allowed: string[] = []
  let best: RouteMatch<T> | undefined
  for (const route of routes) {
    const params = matchPath(route.path, path)
    if (!params) continue
    allowed.push(route.method)
    if (route.method !== method) continue
    if (!best || isMoreLiteral(route.path, best.route.path)) best = { route, params }
  }
  return best ?? { allowed }
}

/** `/nodes/scheduling/:name` before `/nodes/:id/labels`: the first part that differs decides. */
function isMoreLiteral(path: string, other: string): boolean {
  const others = other.split('/')
  const at = path.split('/').findIndex((part, i) => part.startsWith(':') !== others[i]!.startsWith(':'))
  return at >= 0 && others[at]!.startsWith(':')
}

function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [i, part] of wanted.entries()) {
    const value = given[i]!
    if (!part.startsWith(':')) {
      if (part !== value) return undefined
      continue
    }
    const decoded = decode(value)
    if (!decoded) return undefined
    params[part.slice(1)] = decoded
  }
  return params
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
