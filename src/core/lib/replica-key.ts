/** `<model>#<index>`, unique on a node. Model names may hold `#`, so a key is split at the last one. */
export function replicaKey(modelName: string, replicaIndex: number): string {
  return `${modelName}#${replicaIndex}`
}

/** The parts of a key; undefined when the text is none (a bare model name, say). */
export function parseReplicaKey(key: string): { modelName: string; replicaIndex: number } | undefined {
  const match = /^(.+)#(0|[1-9]\d{0,8})$/su.exec(key)
  return match ? { modelName: match[1]!, replicaIndex: Number(match[2]) } : undefined
}
