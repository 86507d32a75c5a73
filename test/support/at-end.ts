import { onTestFinished } from 'vitest'

type Release = () => void | Promise<void>

let ofFile: Release[] | undefined

/** Lets go of something when the test ends, or the file, if it was started within `forFile`. */
export function atEnd(release: Release): void {
  if (ofFile) ofFile.push(release)
  else onTestFinished(release)
}

/**
 * What `start` starts lives until all tests of a file are over: `beforeAll(() => forFile(async () => …))`. For clusters of
 * real processes, which take seconds to start and which many tests can look at.
 */
export async function forFile(start: () => Promise<void>): Promise<() => Promise<void>> {
  const releases: Release[] = []
  const releaseAll = async (): Promise<void> => {
    for (const release of releases.toReversed()) await release()
  }
  ofFile = releases
  try {
    await start()
  } catch (error) {
    await releaseAll()
    throw error
  } finally {
    ofFile = undefined
  }
  return releaseAll
}
