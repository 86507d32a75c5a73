export function distFolder(root: string): string
/** `used`: absolute paths of what the bundler has read. */
export function writeStamp(root: string, used: readonly string[]): void
export function stateOfBuild(root: string): 'built' | 'stale' | 'missing'
