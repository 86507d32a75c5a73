/** `<model>#<index>`, unique on a node. Model names may hold `#`, so a key is split at the last one. */
export function replicaKey(modelName: string, replicaIndex: number): string {
  return `${modelName}#${replicaIndex}`
}
