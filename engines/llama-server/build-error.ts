/** Why it cannot be built, for the person who asked for it. */
export class BuildError extends Error {
  override readonly name = 'BuildError'
}
