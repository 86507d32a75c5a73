let isCrash = false

/** Records that this process ends by a bug; its successor will probably adopt what it leaves. */
export function noteCrash(): void {
  isCrash = true
}

export function hasCrashed(): boolean {
  return isCrash
}
