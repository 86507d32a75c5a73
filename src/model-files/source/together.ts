/**
 * Runs all pieces in parallel. The first failure cancels the rest and is thrown, but only after every piece has ended:
 * nothing continues in the background.
 */
export async function together<T>(
  work: readonly ((signal: AbortSignal) => Promise<T>)[],
  signal: AbortSignal,
): Promise<T[]> {
  const failed = new AbortController()
  const either = AbortSignal.any([signal, failed.signal])
  let failure: { error: unknown } | undefined
  const results = await Promise.all(
    work.map(async (piece) => {
      try {
        return [await piece(either)] as const
      } catch (error) {
        failure ??= { error }
        failed.abort(error)
        return []
      }
    }),
  )
  if (failure) throw failure.error
  return results.flat(1)
}
