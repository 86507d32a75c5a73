export function takeLock(
  root: string,
  what?: { name?: string; doing?: string },
): Promise<{ alsoHeldBy(pid: number): void; release(): void }>
