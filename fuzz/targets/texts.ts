import { posix } from 'node:path'
import { parseSelector } from '../../src/api/selector-text.ts'
import { address, budget, fingerprints, labels, portRange, size, urls } from '../../src/cli/config/option-types.ts'
import { formatBytes, parseBytes } from '../../src/core/lib/bytes.ts'
import { canonicalJson } from '../../src/core/lib/canonical-json.ts'
import { nearNames } from '../../src/core/lib/near-names.ts'
import { budgetBytes, parseBudget } from '../../src/core/nodes/budget.ts'
import { parseLabels } from '../../src/core/nodes/labels.ts'
import { mismatchOf } from '../../src/core/nodes/selector.ts'
import { printSelector } from '../../src/core/nodes/selector-text.ts'
import { isSafePath } from '../../src/model-files/source/safe-path.ts'
import { parseSource, showSource } from '../../src/model-files/source/source.ts'
import { splitParts } from '../../src/model-files/source/split-parts.ts'
import { spoiled } from '../spoil.ts'
import { insist, mayRefuse, type FuzzTarget } from '../target.ts'

export const textTargets: readonly FuzzTarget[] = [
  {
    name: 'selectors',
    reads: 'selectors of nodes, in a line or as JSON',
    cases: spoiled(
      ['tier=gpu,zone=a|b,disk!=slow,!spot', '{"tier":["a","b"],"!x":""}', '__proto__=a,constructor!=b'],
      ['=', '!=', '|', ',', '!', '{"', '":'],
    ),
    read(bytes) {
      const read = parseSelector(bytes.toString())
      if (!read.ok) return insist(read.problem !== '', 'no reason')
      mismatchOf(read.selector, { tier: 'gpu' })
      const again = parseSelector(printSelector(read.selector))
      const printed = again.ok ? canonicalJson(singles(again.selector)) : again.problem
      insist(printed === canonicalJson(singles(read.selector)), 'reads back as another')
    },
  },
  {
    name: 'sizes-and-budgets',
    reads: 'sizes, shares and budgets of memory',
    cases: spoiled(
      ['12GB', '12.5 GiB', '80%', '12884901888', '0', '99.9 %'],
      ['%', 'GiB', '.', 'e9', 'constructor', ' '],
    ),
    read(bytes) {
      const text = bytes.toString()
      const parsed = parseBytes(text)
      insist(parsed === undefined || (Number.isSafeInteger(parsed) && parsed >= 0), 'no number of bytes')
      if (parsed !== undefined) formatBytes(parsed)
      const cap = parseBudget(text)
      const capBytes = cap === undefined ? 0 : budgetBytes(cap, 2 ** 34)
      insist(Number.isSafeInteger(capBytes) && capBytes >= 0 && capBytes <= 2 ** 34, 'a cap out of bounds')
    },
  },
  {
    name: 'options',
    reads: 'values of options: labels, addresses, ports, URLs, fingerprints',
    cases: spoiled(
      ['a=b,c=d', '127.0.0.1:8080', '20000-29999', 'http://a,https://b/', `sha256:${'ab:'.repeat(31)}ab`],
      ['=', ',', ':', 'http://', 'sha256:', '[::1]', '-', '/'],
    ),
    read(bytes) {
      const text = bytes.toString()
      for (const type of [address, budget, fingerprints, labels, portRange, size, urls('http', 'https')])
        type.safeParse(text)
      const read = parseLabels(text)
      insist(!read.ok || Object.getPrototypeOf(read.labels) === Object.prototype, 'labels with another prototype')
      nearNames(text.slice(0, 200), ['models', 'rules', 'nodes'])
    },
  },
  {
    name: 'model-sources',
    reads: 'where the files of a model come from',
    cases: spoiled(
      [
        'hf:org/repo/file.gguf@main',
        'https://user:secret@host/a.gguf?token=x',
        'file:/models/a.gguf',
        'frontend:a/b',
        'bundled:skipper/x',
        'hf:a/x-00001-of-00003.gguf',
        `file:/a#sha256=${'a'.repeat(64)}`,
      ],
      ['hf:', 'file:', 'frontend:', 'https://', '@', '#sha256=', '..', '%2f', '\\', '-00001-of-99999.gguf'],
    ),
    read(bytes) {
      const text = bytes.toString()
      const source = mayRefuse(() => parseSource(text))
      insist(!showSource('https://u:secret@h/a?secret').includes('secret'), 'a secret is shown')
      if (!source) return
      if (source.kind === 'local')
        insist(posix.isAbsolute(source.path) && !source.path.split('/').includes('..'), 'a way up')
      if (source.kind === 'frontend') insist(isSafePath(source.path), 'leads out of the folder')
      if (source.kind === 'hub' && source.path !== undefined) insist(isSafePath(source.path), 'leads out of the folder')
      const name = source.kind === 'url' ? source.fileName : source.path
      if (name === undefined) return
      for (const part of mayRefuse(() => splitParts(name)) ?? []) {
        insist(posix.dirname(part) === posix.dirname(name), 'a part elsewhere')
      }
    },
  },
]

/** One value alone or in a list is the same wish. */
function singles(selector: Readonly<Record<string, string | readonly string[]>>): Record<string, unknown> {
  const entries = Object.entries(selector)
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value !== 'string' && value.length === 1 ? value[0] : value]),
  )
}
