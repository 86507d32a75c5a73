/** A family of metrics as it was read, with its samples. */
export interface ReadFamily {
  type: string
  help: string
  unit: string | undefined
  samples: ReadSample[]
}

export interface ReadSample {
  name: string
  labels: Record<string, string>
  value: number
}

/**
 * Reads a text of metrics by the letter and throws at whatever the formats do not allow: families that are told twice or
 * are torn apart, samples that belong to none, the same labels twice, buckets that fall, counters below 0, a unit that is
 * not in the name, a missing end.
 */
export function readExposition(text: string, format: 'prometheus' | 'openmetrics'): Map<string, ReadFamily> {
  const families = new Map<string, ReadFamily>()
  const isOpen = format === 'openmetrics'
  if (!text.endsWith('\n')) fail('the last line has no end', text.slice(-40))
  const lines = text.slice(0, -1).split('\n')
  if (isOpen && lines.pop() !== '# EOF') fail('it does not end with # EOF', text.slice(-40))
  let current: string | undefined
  for (const line of lines) {
    const told = /^# (HELP|TYPE|UNIT) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line)
    if (told) {
      const [, what, name, rest] = told as unknown as [string, string, string, string]
      if (name !== current && families.has(name)) fail('a family is torn apart or told twice', line)
      current = name
      const family = families.get(name) ?? { type: '', help: '', unit: undefined, samples: [] }
      families.set(name, family)
      if (family.samples.length > 0) fail('what a family is comes after its samples', line)
      if (what === 'TYPE') family.type = rest
      else if (what === 'HELP') family.help = rest
      else if (name.endsWith(`_${rest}`)) family.unit = rest
      else fail('a unit that its name does not end with', line)
    } else {
      const sample = readSample(line)
      const family = families.get(current ?? '') ?? fail('a sample without a family', line)
      if (!namesOf(current!, family.type, isOpen).includes(sample.name)) fail('a sample of another family', line)
      family.samples.push(sample)
    }
  }
  for (const [name, family] of families) checkFamily(name, family, isOpen)
  return families
}

function namesOf(family: string, type: string, isOpen: boolean): string[] {
  if (type === 'counter') return [isOpen ? `${family}_total` : family]
  return type === 'histogram' ? [`${family}_bucket`, `${family}_sum`, `${family}_count`] : [family]
}

const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y

function readSample(line: string): ReadSample {
  const match = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? fail('not a sample', line)
  const labels: Record<string, string> = {}
  const text = match[2] ?? ''
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < text.length) {
    const [, name = '', value = ''] = LABEL.exec(text) ?? fail('labels that cannot be read', line)
    if (Object.hasOwn(labels, name)) fail('a label twice', line)
    labels[name] = value.replaceAll(/\\(.)/g, (_, one: string) => (one === 'n' ? '\n' : one))
  }
  const value = match[3]!.replace('Inf', 'Infinity')
  if (!/^([+-]?Infinity|NaN|[+-]?\d+(\.\d+)?(e[+-]?\d+)?)$/.test(value)) fail('not a number', line)
  return { name: match[1]!, labels, value: Number(value) }
}

function checkFamily(name: string, { type, help, samples }: ReadFamily, isOpen: boolean): void {
  if (!['counter', 'gauge', 'histogram'].includes(type)) fail('no type', name)
  if (help === '') fail('no help', name)
  if (!isOpen && (type === 'counter') !== name.endsWith('_total'))
    fail('counters, and only they, end with _total', name)
  const seen = new Set<string>()
  for (const { name: sample, labels, value } of samples) {
    const key = `${sample}${JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)))}`
    if (seen.has(key)) fail('the same sample twice', key)
    seen.add(key)
    if (type !== 'gauge' && !(value >= 0)) fail('a count below 0', key)
  }
  if (type === 'histogram') checkBuckets(name, samples, isOpen)
}

function checkBuckets(name: string, samples: readonly ReadSample[], isOpen: boolean): void {
  const bySet = Map.groupBy(samples, ({ labels }) => JSON.stringify({ ...labels, le: '' }))
  for (const set of bySet.values()) {
    const buckets = set.filter((one) => one.name.endsWith('_bucket'))
    const bounds = buckets.map(({ labels }) => labels['le']!)
    if (isOpen && bounds.some((le) => !/[.+e]/.test(le))) fail('a bound that is no float', name)
    const numbers = bounds.map((le) => Number(le.replace('Inf', 'Infinity')))
    if (numbers.at(-1) !== Number.POSITIVE_INFINITY) fail('no last bucket', name)
    if (numbers.some((bound, i) => i > 0 && !(bound > numbers[i - 1]!))) fail('bounds that do not grow', name)
    if (buckets.some(({ value }, i) => i > 0 && value < buckets[i - 1]!.value)) fail('buckets that fall', name)
    const count = set.find((one) => one.name.endsWith('_count'))
    if (count?.value !== buckets.at(-1)?.value) fail('a count that is not that of the last bucket', name)
  }
}

function fail(why: string, where: string): never {
  throw new Error(`Not a valid text of metrics: ${why}: ${where}`)
}
