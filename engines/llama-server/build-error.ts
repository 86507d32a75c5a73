/** Why the build is impossible, as a message for the log. */
export class BuildError extends Error {
  override readonly name = 'BuildError'
}
