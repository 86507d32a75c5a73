import { spawnSync } from 'node:child_process'

/** Enough for what a worker keeps, and soon full. */
const SIZE = '32m'

/** A disk of its own in this folder. False when the system does not let us: it takes root, and a container may forbid it. */
export function mountSmallDisk(folder: string): boolean {
  const options = `size=${SIZE},mode=0700`
  return spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' }).status === 0
}

/** Also when something still looks at it; it is gone when that is. */
export function unmount(folder: string): void {
  spawnSync('umount', ['-l', folder], { stdio: 'ignore' })
}
