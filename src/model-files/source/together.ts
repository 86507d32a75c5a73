/**
 * Does all of it at the same time. The first failure cancels the rest and is what is thrown, but only when every piece has
 * ended: nothing goes on behind the caller's back.
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
