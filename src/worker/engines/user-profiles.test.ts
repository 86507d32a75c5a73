import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { builtInProfiles } from './built-in.ts'
import { Profiles } from './profiles.ts'
import { readUserProfiles } from './user-profiles.ts'

const good = 'name: mine\ncommand: [mine-server, --port, "{{port}}"]\nready: { http: /health }\n'

function aFolder(files: Record<string, string>): string {
  const folder = join(tempFolder(), 'profiles')
  mkdirSync(folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

function brokenIn(text: string): { name: string; reason: string } {
  const { profiles, broken } = readUserProfiles(aFolder({ 'a.yaml': text }))
  expect(profiles).toEqual([])
  expect(broken).toHaveLength(1)
  return broken[0]!
}

test('what an engine takes of a node is part of its profile', () => {
  const uses =
    'uses: { device: gpu, share: { option: fraction, default: 0.5 }, devices_option: tp }\nmemory: preallocated\n'
  const { profiles } = readUserProfiles(aFolder({ 'a.yaml': good + uses, 'b.yaml': good.replace('mine', 'plain') }))
  expect(profiles).toMatchObject([
    {
      memory: 'preallocated',
      uses: { device: 'gpu', share: { option: 'fraction', default: 0.5 }, devices_option: 'tp' },
    },
    { memory: 'on_load', uses: { device: 'either' } },
  ])
  expect(brokenIn(`${good}uses: { device: tpu }\n`).reason).toContain('uses.device')
})

test('a file is one profile or a list of them; other files are left alone', () => {
  const list =
    '- name: one\n  command: [x]\n  ready: { port: true }\n- name: two\n  command: [y]\n  ready: { log: up }\n'
  const folder = aFolder({ 'a.yaml': good, 'b.yml': list, 'notes.txt': '{', '.a.yaml.swp': '{', '.b.yaml': '{' })
  const { profiles, broken } = readUserProfiles(folder)
  expect(profiles.map(({ name }) => name)).toEqual(['mine', 'one', 'two'])
  expect(profiles[0]).toMatchObject({ command: ['mine-server', '--port', '{{port}}'], parallel: 1, options: 'flags' })
  expect(broken).toEqual([])
})

test('no folder is no profiles', () => {
  expect(readUserProfiles(join(tempFolder(), 'nowhere'))).toEqual({ profiles: [], broken: [] })
})

test('a folder that cannot be read is told', () => {
  const file = join(tempFolder(), 'profiles')
  writeFileSync(file, '')
  expect(readUserProfiles(file).broken).toMatchObject([
    { name: 'profiles', reason: expect.stringContaining('a part of the path is a file') },
  ])
})

test('a mistake in the YAML names the file and the line', () => {
  expect(brokenIn('name: mine\ncommand: [a, b\nready: {}\n')).toMatchObject({
    name: 'a.yaml',
    reason: expect.stringMatching(/^a\.yaml:[234]: /),
  })
  expect(brokenIn(`${good}name: again\n`).reason).toMatch(/^a\.yaml:4: .*given twice/)
})

test('a mistake in a field names its line, the field and what it must be', () => {
  const cases: [string, string, RegExp][] = [
    [`${good}parallel: many\n`, 'mine', /^a\.yaml:4: parallel: /],
    [`${good}stop:\n  signal: SIGKILL\n`, 'mine', /^a\.yaml:5: stop\.signal: /],
    [`${good}paralel: 3\n`, 'mine', /there is no field "paralel"; did you mean "parallel"\?/],
    [`${good}stop: { sginal: SIGINT }\n`, 'mine', /^a\.yaml:4: there is no field "stop\.sginal"$/],
    ['name: mine\ncommand: [a]\n', 'mine', /^a\.yaml:1: ready: must be one of \{ http: \/path \}/],
    [good.replace('/health', 'health'), 'mine', /^a\.yaml:3: ready\.http: .*must start with/],
    ['name: mine\ncommand: [a]\nready: { log: "(" }\n', 'mine', /^a\.yaml:3: ready\.log: must be a regular expression/],
    ['name: My Engine\ncommand: [a]\nready: { port: true }\n', 'a.yaml', /name: must be lower-case/],
    [`${good}install: { archive: { url: "https://x" } }\n`, 'mine', /^a\.yaml:4: install/],
    ['just text\n', 'a.yaml', /expected object/],
    ['', 'a.yaml', /no profile in it/],
    ['- name: mine\n  command: [a]\n', 'mine', /^a\.yaml:1: ready: /],
    ['- 5\n', 'a.yaml#0', /expected object/],
  ]
  for (const [text, name, reason] of cases) {
    expect(brokenIn(text)).toMatchObject({ name, reason: expect.stringMatching(reason) })
  }
})

test('aliases that would fill the memory are a mistake like any other', () => {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
  for (let level = 1; level < 10; level += 1) {
    lines.push(
      `a${level}: &a${level} [${Array(10)
        .fill(`*a${level - 1}`)
        .join(', ')}]`,
    )
  }
  expect(brokenIn(lines.join('\n')).reason).toMatch(/alias/i)
})

test('one mistake leaves the others alone', () => {
  const folder = aFolder({ 'a.yaml': good, 'b.yaml': 'name: other\ncommand: {}\nready: { port: true }\n' })
  const { profiles, broken } = readUserProfiles(folder)
  expect(profiles.map(({ name }) => name)).toEqual(['mine'])
  expect(broken.map(({ name }) => name)).toEqual(['other'])
})

test('two profiles of one name are both broken, and both places are named', () => {
  const folder = aFolder({ 'a.yaml': good, 'b.yaml': `# a comment\n${good}` })
  expect(readUserProfiles(folder)).toEqual({
    profiles: [],
    broken: [{ name: 'mine', reason: 'The profile "mine" is there more than once: a.yaml:1 and b.yaml:2. Keep one.' }],
  })
})

test('a link that leads nowhere and a file that is too big are told', () => {
  const folder = aFolder({ 'big.yaml': '#'.repeat(1024 * 1024 + 1) })
  symlinkSync('/nowhere', join(folder, 'gone.yaml'))
  expect(readUserProfiles(folder).broken.map(({ reason }) => reason)).toEqual([
    expect.stringContaining('has 1048577 bytes'),
    expect.stringContaining('there is no such file'),
  ])
})

test('more files than are read is told', () => {
  const files = Array.from({ length: 101 }, (_, index) => [`f${index}.yaml`, good.replace('mine', `e${index}`)])
  const { profiles, broken } = readUserProfiles(aFolder(Object.fromEntries(files)))
  expect(profiles).toHaveLength(100)
  expect(broken).toMatchObject([{ name: 'profiles', reason: expect.stringContaining('at most 100 files') }])
})

test('a profile with the name of a built-in one replaces it, and a broken one hides it', () => {
  const folder = aFolder({ 'vllm.yaml': good.replace('mine', 'vllm'), 'ollama.yaml': 'name: ollama\ncommand: []\n' })
  const profiles = new Profiles(folder, builtInProfiles)
  expect(profiles.get('vllm')).toMatchObject({
    source: 'user',
    profile: { command: ['mine-server', '--port', '{{port}}'] },
  })
  expect(profiles.get('ollama')).toMatchObject({ source: 'user', broken: expect.stringContaining('ollama.yaml') })
  expect(profiles.get('sglang')).toMatchObject({ source: 'built-in' })
})

test('a changed, new or deleted file is noticed at the next look', () => {
  const folder = aFolder({ 'a.yaml': good })
  const profiles = new Profiles(folder, builtInProfiles)
  expect(profiles.refresh()).toBe(false)
  writeFileSync(join(folder, 'a.yaml'), `${good}parallel: 12\n`)
  expect(profiles.refresh()).toBe(true)
  expect(profiles.get('mine')?.profile?.parallel).toBe(12)
  rmSync(join(folder, 'a.yaml'))
  profiles.refresh()
  expect(profiles.get('mine')).toBeUndefined()
  writeFileSync(join(folder, 'vllm.yaml'), good.replace('mine', 'vllm'))
  profiles.refresh()
  expect(profiles.get('vllm')?.source).toBe('user')
})
