import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { replicaStates } from '../src/core/types.ts'

/** The repository checks itself. Each rule returns its problems as `file:line: what to do`, so none is a riddle. */

const root = fileURLToPath(new URL('..', import.meta.url))

interface File {
  name: string
  lines: readonly string[]
}

const files = listFiles()
const markdown = files.filter(({ name }) => name.endsWith('.md'))
const pages = markdown.filter(({ name }) =>
  /^(README|CHANGELOG|CONTRIBUTING|docs\/guide\/.*|ops\/README)\.md$/.test(name),
)
const code = files.filter(({ name }) => /\.(ts|tsx|js|mjs|sql|css|html)$/.test(name))
const tests = files.filter(({ name }) => /\.(test|e2e)\.tsx?$/.test(name))
const source = code.filter(({ name }) => name.startsWith('src/'))

/** A file of src that may be long, with the reason why it is better whole. */
const longFiles: Record<string, string> = {}
const maxLines = 400

test('no file names the address of a package registry', () => {
  const hosts = [
    ['registry', 'npmjs', 'org'],
    ['registry', 'yarnpkg', 'com'],
    ['registry', 'npmmirror', 'com'],
  ]
  const debian = [
    ['deb', 'debian', 'org'],
    ['archive', 'ubuntu', 'com'],
    ['files', 'pythonhosted', 'org'],
    ['pypi', 'org'],
  ]
  const pattern = new RegExp([...hosts, ...debian].map((parts) => parts.join(String.raw`\.`)).join('|'))
  expect(find(files, pattern, 'name packages, not the place they come from: mirrors differ')).toEqual([])
})

test('no file names a path of one workplace', () => {
  const folders = [
    ['work', '(main|shared|\\.library)'],
    ['root', ''],
    ['Users', '\\w'],
  ]
  const pattern = new RegExp(`(?<![\\w.~-])/(${folders.map((parts) => parts.join('/')).join('|')})`)
  expect(find(files, pattern, 'use a path relative to the repository, or ask the system')).toEqual([])
})

test('the lock file names no place to download from', () => {
  const lock = files.filter(({ name }) => name === 'package-lock.json')
  expect(lock).toHaveLength(1)
  expect(find(lock, /"resolved":/, 'run npm install with omit-lockfile-registry-resolved=true')).toEqual([])
})

test('what is left to do has a reason', () => {
  const words = [
    ['TO', 'DO'],
    ['FIX', 'ME'],
    ['X', 'XX'],
  ].map((parts) => parts.join(''))
  const pattern = new RegExp(String.raw`\b(${words.join('|')})\b(?!\s*(\([^)]{3,}\)|:\s*\S{3,}))`)
  expect(find(code, pattern, 'say why it is left, after a colon or in parentheses, or do it')).toEqual([])
})

test('no test is left out', () => {
  const pattern = /\b(test|it|describe|suite)(\.\w+)*\.(only|skip|todo)\b/
  expect(find(tests, pattern, 'run it, or delete it')).toEqual([])
})

test('every test file asserts something, itself or through a suite that it shares with others', () => {
  const idle = tests.filter((file) => ![file, ...suitesOf(file)].some(asserts))
  expect(idle.map(({ name }) => `${name}:1: has no expect() or assert()`)).toEqual([])
})

test(`no source file has more than ${maxLines} lines`, () => {
  const long = source.filter(({ name, lines }) => lines.length > maxLines && !(name in longFiles))
  expect(long.map(({ name, lines }) => `${name}:${lines.length}: split it by idea, or add it to longFiles`)).toEqual([])
  const gone = Object.keys(longFiles).filter((name) => !source.some((file) => file.name === name))
  expect(gone.map((name) => `${name}: is gone, remove it from longFiles`)).toEqual([])
})

test('nothing has been dropped into the root folder', () => {
  const known = new Set('.ci bench docs engines fuzz migrations models ops scripts sim src test ui'.split(' '))
  const dropped = files.filter(({ name }) => name.includes('/') && !known.has(name.split('/')[0]!))
  expect(dropped.map(({ name }) => `${name}:1: a new folder? name it here and in ARCHITECTURE.md`)).toEqual([])
})

test('files and folders are named in kebab-case', () => {
  const kebab = /^\.?[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*$/
  // README.md and its kind by custom, migrations because their names are also identifiers, snapshots by vitest.
  const custom =
    /^((.*\/)?[A-Z_]+(\.md|\.txt)?|(.*\/)?Dockerfile(\.dockerignore)?|migrations\/\d{4}_[a-z0-9_]+\.sql|.*\/__snapshots__\/.*)$/
  const odd = files.filter(({ name }) => !custom.test(name) && !name.split('/').every((part) => kebab.test(part)))
  expect(odd.map(({ name }) => `${name}:1: rename to small letters, digits and dashes`)).toEqual([])
})

test('only the command line prints', () => {
  const quiet = source.filter(({ name }) => !name.startsWith('src/cli/'))
  expect(find(quiet, /\bconsole\.\w+\(/, 'use the log (platform/log.ts)')).toEqual([])
})

test('what the system says of a file, and the parser of a YAML text, is put into words', () => {
  const pattern = /[Cc]annot (read|write|use|make|delete|put)\b[^`]*\$\{messageOf\(|not valid YAML: \$\{(?!yamlProblem)/
  expect(find(source, pattern, 'word it with fileProblem or yamlProblem (src/platform)')).toEqual([])
})

test('no program is started by a line that a shell would read', () => {
  const pattern = /import \{[^}]*\bexec(Sync)?\b[^}]*\} from 'node:child_process'|\bshell: true\b|\bexecSync\(/
  expect(find(source, pattern, 'start programs with a list of arguments (spawn, execFile)')).toEqual([])
  // The few scripts of our own are texts that nothing is put into; what they work on they get as arguments.
  const ours = source.filter(({ name }) => !/\.test\.ts$|^test\/support\//.test(name))
  const scripts = /spawn\('\/bin\/sh', \['-c', (?!(HELD|GUARD|watchdogScript)\b)/
  expect(find(ours, scripts, 'name it here')).toEqual([])
})

test('every dependency is accounted for in docs/decisions', () => {
  const decisions = inDecisions().flatMap(({ lines }) => lines)
  const { dependencies, devDependencies } = readPackage()
  const unexplained = Object.keys({ ...dependencies, ...devDependencies })
    .filter((name) => !decisions.some((line) => line.includes(`\`${name}\``)))
    .map((name) => `package.json: say in docs/decisions why \`${name}\` is needed`)
  expect(unexplained).toEqual([])
})

test('decisions are numbered without gaps', () => {
  const names = inDecisions()
    .map(({ name }) => path.basename(name))
    .filter((name) => name !== 'README.md')
  expect(names.length).toBeGreaterThan(0)
  const wrong = names.filter((name, index) => !name.startsWith(`${String(index + 1).padStart(4, '0')}-`))
  expect(wrong.map((name) => `docs/decisions/${name}: give it the next free number: 0001-, 0002-, …`)).toEqual([])
})

test('every decision says under its title whether it still holds, and which later one supersedes part of it', () => {
  const later = /\[(\d{4})\]\((\d{4})-[\w-]+\.md\)/g
  const problems = inDecisions().flatMap(({ name, lines }) => {
    const where = `${name}:3: the third line is "Status: accepted", or "Status: accepted; superseded in part by [00NN](…)"`
    const status = lines.slice(2, lines.indexOf('', 2)).join(' ')
    if (status === 'Status: accepted') return []
    const links = [...status.matchAll(later)]
    const own = path.basename(name).slice(0, 4)
    const areLater = links.length > 0 && links.every(([, text, target]) => text === target && target! > own)
    return /^Status: accepted; superseded (in part )?by \[/.test(status) && areLater ? [] : [where]
  })
  expect(problems).toEqual([])
})

test('every npm script that a page names exists', () => {
  const { scripts } = readPackage()
  const problems = markdown.flatMap(({ name, lines }) =>
    lines.flatMap((line, index) =>
      [...line.matchAll(/\bnpm (?:run |(?=start\b|test\b))([a-z][\w:-]*)/g)]
        .filter((match) => !Object.hasOwn(scripts, match[1]!))
        .map((match) => `${name}:${index + 1}: package.json has no script ${match[1]}`),
    ),
  )
  expect(problems).toEqual([])
})

test('every link of a page to a file leads to one in the repository', () => {
  const known = new Set(files.flatMap(({ name }) => withFolders(name)))
  const problems = markdown.flatMap((file) =>
    linksOf(file).flatMap(({ target, line }) => {
      const where = `${file.name}:${line}: ${target}`
      const goal = path.posix.join(path.posix.dirname(file.name), decodeURI(target.replace(/[#?].*$/, '')))
      if (target.startsWith('/') || goal.startsWith('..')) return [`${where} leads out of the repository`]
      return known.has(goal.replace(/\/$/, '')) ? [] : [`${where} leads to no file`]
    }),
  )
  expect(problems).toEqual([])
})

test('pages for people wrap at 120 columns', () => {
  const wide = pages.flatMap(({ name, lines }) =>
    proseOf(lines)
      .filter(({ text }) => text.length > 120 && !/^(\||!\[|\s*<)/.test(text) && text.trim().includes(' '))
      .map(({ line }) => `${name}:${line}: wrap it`),
  )
  expect(wide).toEqual([])
})

test('pages for people name the actor', () => {
  // CONTRIBUTING.md says which words these are.
  const others = pages.filter(({ name }) => name !== 'CONTRIBUTING.md')
  expect(find(others, /\b(whom|nobody|somebody)\b/i, 'say which client, gateway, worker or person')).toEqual([])
})

test('the changelog begins with the version of the package, and goes down from there', () => {
  const lines = files.find(({ name }) => name === 'CHANGELOG.md')!.lines
  const versions = lines.flatMap(
    (line) => /^## (\d+\.\d+\.\d+) \((unreleased|\d{4}-\d\d-\d\d)\)$/.exec(line)?.[1] ?? [],
  )
  expect(lines.filter((line) => line.startsWith('## '))).toHaveLength(versions.length)
  expect(versions[0]).toBe(readPackage().version)
  const numbers = versions.map((version) =>
    version
      .split('.')
      .map(Number)
      .reduce((sum, part) => sum * 1000 + part),
  )
  expect(numbers).toEqual(numbers.toSorted((a, b) => b - a))
})

test('what ARCHITECTURE.md and its pictures name is there', () => {
  const known = new Set(files.flatMap(({ name }) => withFolders(name)))
  const texts = files.filter(({ name }) => name === 'ARCHITECTURE.md' || name === 'docs/images/roles.svg')
  expect(texts).toHaveLength(2)
  const gone = texts.flatMap(({ name: page, lines }) =>
    lines.flatMap((line, index) =>
      [...line.matchAll(/(?<![\w./-])(?:src|test|ui|scripts|docs|ops|bench|sim)\/[\w./{},-]*\w(?:\})?/g)]
        .flatMap(([found]) => withBraces(found.replace(/[.,]+$/, '')))
        .filter((found) => !known.has(found))
        .map((found) => `${page}:${index + 1}: there is no ${found}`),
    ),
  )
  expect(gone).toEqual([])
})

test('the picture of the states of a replica has all of them', () => {
  const drawn = files.find(({ name }) => name === 'docs/images/replica-states.svg')!.lines.join('\n')
  const words = [...drawn.matchAll(/>(\w+)<\/text>/g)].map(([, word]) => word!)
  expect(words.toSorted()).toEqual([...replicaStates].toSorted())
})

/** Tracked files and new ones that are not ignored, so that a problem shows before it is committed. */
function listFiles(): File[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z']
  const names = execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\0')
  return [...new Set(names)]
    .filter((name) => name !== '' && fs.statSync(path.join(root, name), { throwIfNoEntry: false })?.isFile())
    .toSorted()
    .map((name) => ({ name, text: fs.readFileSync(path.join(root, name), 'utf8') }))
    .map(({ name, text }) => ({ name, lines: text.includes('\0') ? [] : text.replace(/\n$/, '').split('\n') }))
}

function find(within: readonly File[], pattern: RegExp, advice: string): string[] {
  return within.flatMap(({ name, lines }) =>
    lines.flatMap((line, index) =>
      pattern.test(line) ? [`${name}:${index + 1}: ${advice}: ${line.trim().slice(0, 80)}`] : [],
    ),
  )
}

function asserts({ lines }: File): boolean {
  return lines.some((line) => /\b(expect|assert)(\.\w+)?[(<]/.test(line))
}

/** Files beside the tests that hold the tests themselves, to be run against more than one thing. */
function suitesOf(test: File, seen = new Set([test.name])): File[] {
  const imported = test.lines.flatMap((line) => /from '(\.[^']+)'/.exec(line)?.[1] ?? [])
  const names = new Set(imported.map((target) => path.posix.join(path.posix.dirname(test.name), target)))
  const isSuite = (file: File): boolean => file.lines.some((line) => line.endsWith("from 'vitest'"))
  const suites = files.filter((file) => names.has(file.name) && !seen.has(file.name) && isSuite(file))
  for (const { name } of suites) seen.add(name)
  return [...suites, ...suites.flatMap((suite) => suitesOf(suite, seen))]
}

function inDecisions(): File[] {
  return markdown.filter(({ name }) => name.startsWith('docs/decisions/'))
}

function readPackage(): Record<'dependencies' | 'devDependencies' | 'scripts', Record<string, string>> & {
  version: string
} {
  return JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as ReturnType<typeof readPackage>
}

/** `src/{a,b}` is src/a and src/b. */
function withBraces(text: string): string[] {
  const [, before, inside, after] = /^(.*)\{([^}]*)\}(.*)$/.exec(text) ?? []
  return inside === undefined ? [text] : inside.split(',').map((one) => `${before}${one}${after}`)
}

function withFolders(name: string): string[] {
  const parts = name.split('/')
  return ['.', ...parts.map((_, index) => parts.slice(0, index + 1).join('/'))]
}

/** Links and images, inline or by reference, to files; not those in code, to other sites or within the page. */
function linksOf({ lines }: File): { target: string; line: number }[] {
  return proseOf(lines).flatMap(({ text, line }) => {
    const prose = text.replaceAll(/`[^`]*`/g, '')
    const targets = [...prose.matchAll(/\]\(<?([^)>\s]+)|^\[[^\]]+\]:\s*(\S+)/g)].map((match) => match[1] ?? match[2]!)
    return targets.filter((target) => !/^([a-z]+:|#)/i.test(target)).map((target) => ({ target, line }))
  })
}

/** The lines of a page that are not in a block of code, numbered from 1. */
function proseOf(lines: readonly string[]): { text: string; line: number }[] {
  const prose: { text: string; line: number }[] = []
  let isCode = false
  for (const [index, text] of lines.entries()) {
    if (/^\s*(```|~~~)/.test(text)) isCode = !isCode
    else if (!isCode) prose.push({ text, line: index + 1 })
  }
  return prose
}
