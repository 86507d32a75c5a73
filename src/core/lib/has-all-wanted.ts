/** A model as far as it matters here: what is wanted of it, and which replicas it has. */
interface Explained {
  wanted: { min: number } | null
  wanted_since: number | null
  nodes: readonly { replicas: readonly { state: string; is_current: boolean }[] }[]
}

/** Whether a model has every replica that its rule or a waiting client asks for. If so, no room for one more is no problem. */
export function hasAllWanted({ wanted, wanted_since: since, nodes }: Explained): boolean {
  const least = Math.max(wanted?.min ?? 0, wanted === null || since !== null ? 1 : 0)
  const ready = nodes.flatMap(({ replicas }) => replicas).filter((one) => one.is_current && one.state === 'ready')
  return ready.length >= least
}
