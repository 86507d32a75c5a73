import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

/**
 * What the dashboard in ui/dist was built from: every file that went into it, by its hash. The bundler says which of them
 * lie outside of ui/, so that an edit elsewhere builds nothing again. It is written last: a build that was interrupted has
 * none.
 */
export const distFolder = (root) => path.join(root, 'ui/dist')
const stampFile = (root) => path.join(distFolder(root), '.built')

/** @param {string} root @param {readonly string[]} used absolute paths of what the bundler read */
export function writeStamp(root, used) {
  const outside = used
    .map((file) => path.relative(root, file))
    .filter((name) => !/^(\.\.|ui|node_modules)\//.test(name))
  const names = new Set([...ownFiles(root), ...outside])
  const hashes = Object.fromEntries([...names].map((name) => [name, hashOf(root, name)]))
  fs.writeFileSync(stampFile(root), JSON.stringify(hashes, null, 1))
}

/** @param {string} root @returns {'built' | 'stale' | 'missing'} */
export function stateOfBuild(root) {
  let hashes
  try {
    hashes = JSON.parse(fs.readFileSync(stampFile(root), 'utf8'))
  } catch {
    return fs.existsSync(path.join(distFolder(root), 'index.html')) ? 'stale' : 'missing'
  }
  const isSame =
    ownFiles(root).every((name) => name in hashes) &&
    Object.entries(hashes).every(([name, hash]) => hashOf(root, name) === hash)
  return isSame ? 'built' : 'stale'
}

/** Dependencies count by the lock file. */
function ownFiles(root) {
  const names = fs.readdirSync(path.join(root, 'ui'), { recursive: true, withFileTypes: true })
  const files = names
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath ?? entry.path, entry.name)))
    .filter((name) => !name.startsWith('ui/dist/') && !/\.(test|e2e)\.tsx?$/.test(name))
  return ['package-lock.json', ...files]
}

function hashOf(root, name) {
  try {
    return createHash('sha256')
      .update(fs.readFileSync(path.join(root, name)))
      .digest('hex')
      .slice(0, 16)
  } catch {
    return 'gone'
  }
}
