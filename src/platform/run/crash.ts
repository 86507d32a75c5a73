let isCrash = false

/** This process ends by a mistake of its own, and another is likely to take over what it leaves. */
export function noteCrash(): void {
  isCrash = true
}

export function hasCrashed(): boolean {
  return isCrash
}
