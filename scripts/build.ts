import fs from 'node:fs'
import path from 'node:path'
import { runChild } from './lib/child.ts'
import { root } from './lib/root.ts'
import { runStep } from './lib/step.ts'

/**
 * `npm run build`: plain JavaScript in dist/, laid out like the repository (dist/src/main.js, dist/migrations), so that
 * a path relative to a source file means the same in both. No source maps: only types are taken away, line for line
 * the code reads as it was written. dist/package.json is enough to install it elsewhere: `npm install --omit=dev`.
 */
const dist = path.join(root, 'dist')

fs.rmSync(dist, { recursive: true, force: true })
const isBuilt =
  (await runStep({ name: 'dashboard', command: process.execPath, args: ['scripts/build-ui.ts', '--if-stale'] })) &&
  (await runStep({ name: 'compiled', command: 'tsc', args: ['-p', 'tsconfig.build.json'] })) &&
  copyRest() &&
  (await listParts()) &&
  (await tryOut())
if (!isBuilt) process.exitCode = 1

function copyRest(): boolean {
  fs.copyFileSync(path.join(root, 'src/flotilla.cjs'), path.join(dist, 'src/flotilla.cjs'))
  for (const folder of ['migrations', 'models', 'ui/dist'])
    fs.cpSync(path.join(root, folder), path.join(dist, folder), { recursive: true })
  const { name, version, description, license, type, dependencies, engines } = JSON.parse(
    fs.readFileSync(path.join(root, 'package.json'), 'utf8'),
  ) as Record<string, unknown>
  const forUse = {
    name,
    version,
    description,
    license,
    type,
    bin: { flotilla: 'src/flotilla.cjs' },
    dependencies,
    engines,
  }
  fs.writeFileSync(path.join(dist, 'package.json'), `${JSON.stringify(forUse, null, 2)}\n`)
  console.log('✓ copied migrations, models, ui/dist and package.json')
  return true
}

/** What is given on, as CycloneDX: every package with its version, licence and hash. */
async function listParts(): Promise<boolean> {
  const { code, output } = await runChild('npm', [
    'sbom',
    '--sbom-format',
    'cyclonedx',
    '--omit',
    'dev',
    '--loglevel',
    'silent',
  ])
  if (code === 0) fs.writeFileSync(path.join(dist, 'sbom.cdx.json'), output)
  console.log(`${code === 0 ? '✓' : '✗'} dist/sbom.cdx.json${code === 0 ? '' : `: ${output.trim()}`}`)
  return code === 0
}

/** What was built must at least start. */
async function tryOut(): Promise<boolean> {
  const entry = path.join(dist, 'src/flotilla.cjs')
  const { code, output } = await runChild(process.execPath, [entry, '--version'])
  console.log(`${code === 0 ? '✓' : '✗'} node dist/src/flotilla.cjs --version: ${output.trim()}`)
  return code === 0
}
