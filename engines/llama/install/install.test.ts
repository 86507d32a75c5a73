import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { builtInProfiles } from '../../../src/worker/engines/built-in.ts'
import { chooseBuilds } from './choose-builds.ts'
import { installLibrary, LIBRARY_FILE } from './install-library.ts'
import { lockFile } from './lock-file.ts'
import { LIBRARY_VERSION, PINNED_PACKAGES } from './pinned-packages.ts'

const machine = { platform: 'linux', arch: 'x64', gpuVendor: '' }

/** An installation by a program that is not npm; what it was asked for, and what was said meanwhile. */
async function installWith(script: string): Promise<{ folder: string; said: string[]; failure: unknown }> {
  const [folder, bin] = [tempFolder(), tempFolder()]
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\n${script}\n`)
  chmodSync(join(bin, 'npm'), 0o755)
  const said: string[] = []
  const env = { PATH: `${bin}:/usr/bin:/bin` }
  const failure = await installLibrary(folder, machine, env, (line) => said.push(line)).catch((error: unknown) => error)
  return { folder, said, failure }
}

test('the builds are those that the machine can use', () => {
  expect(chooseBuilds(machine)).toEqual(['linux-x64'])
  expect(chooseBuilds({ ...machine, gpuVendor: 'nvidia' })).toEqual(['linux-x64', 'linux-x64-cuda', 'linux-x64-vulkan'])
  expect(chooseBuilds({ ...machine, gpuVendor: 'amd' })).toEqual(['linux-x64', 'linux-x64-vulkan'])
  expect(chooseBuilds({ ...machine, arch: 'arm64', gpuVendor: 'nvidia' })).toEqual(['linux-arm64'])
  expect(chooseBuilds({ ...machine, platform: 'sunos' })).toBeUndefined()
})

test('every package is pinned by its digest, and what it needs is there', () => {
  const { lock, manifest, count } = lockFile(['linux-x64'])
  const { packages } = JSON.parse(lock) as { packages: Record<string, { integrity?: string; dependencies: object }> }
  const { '': root, ...rest } = packages
  expect(Object.keys(rest)).toHaveLength(count)
  for (const { integrity } of Object.values(rest)) expect(integrity).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/)
  for (const [path, { dependencies }] of Object.entries(rest)) {
    for (const name of Object.keys(dependencies)) {
      const found = [`${path}/node_modules/${name}`, `node_modules/${name}`].some((place) => place in rest)
      expect(found, `${path} needs ${name}`).toBe(true)
    }
  }
  expect(JSON.parse(manifest)).toMatchObject({ dependencies: root!.dependencies })
  expect(root!.dependencies).toMatchObject({
    'node-llama-cpp': LIBRARY_VERSION,
    '@node-llama-cpp/linux-x64': LIBRARY_VERSION,
  })
  expect(lock).not.toContain('linux-x64-cuda')
  expect(PINNED_PACKAGES).not.toMatch(/https?:/)
})

test('the profile of the engine looks for what the installer makes', () => {
  expect(builtInProfiles.find(({ name }) => name === 'llama')?.program).toBe(LIBRARY_FILE)
})

test('npm is asked for exactly the pinned packages, with no scripts', async () => {
  const { folder, said, failure } = await installWith(
    'echo "$@" > asked; echo "npm http fetch GET 200 x/a.tgz" >&2; exit 0',
  )
  const asked = readFileSync(join(folder, 'asked'), 'utf8')
  expect(asked).toMatch(/^ci --ignore-scripts --omit=optional/)
  expect(JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))).toMatchObject({ lockfileVersion: 3 })
  expect(said[0]).toContain('117 packages')
  // It brought nothing, so nothing can be tried out, and nothing looks like an installation.
  expect(String(failure)).toContain('does not run on this machine')
  expect(existsSync(join(folder, LIBRARY_FILE))).toBe(false)
})

test('what npm complains about is the reason, without addresses', async () => {
  const complaint = 'npm error code ENOTFOUND\nnpm error request to https://user:secret@registry.example/x failed'
  const { failure } = await installWith(`printf '%s\\n' '${complaint}' >&2; exit 1`)
  expect(String(failure)).toContain('code ENOTFOUND; request to (address) failed')
  expect(String(failure)).not.toContain('secret')
})

test('without npm, or on another machine, it says what to do', async () => {
  const folder = tempFolder()
  const nowhere = { PATH: folder }
  await expect(installLibrary(folder, machine, nowhere, () => {})).rejects.toThrow('npm is not in PATH')
  const other = { ...machine, platform: 'sunos' }
  await expect(installLibrary(folder, other, nowhere, () => {})).rejects.toThrow(
    'flotilla engines install llama-server',
  )
})
