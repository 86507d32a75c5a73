/** So long ago the last try of a refused run still counts as one that goes on: two of its waits. */
export const REFUSED_LATELY_MS = 30_000
