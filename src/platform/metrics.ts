/** One number of a metric, for one set of label values. Held by who counts, so that counting is an addition. */
export interface Cell {
  value: number
}

/** What a gauge shows now, by the values of its labels. */
export interface Sample {
  labels: readonly string[]
  value: number
}

/** Sets of label values of one metric; what comes beyond is counted under `other`, since names may come from anywhere. */
const MOST_SETS = 1000
const OTHER = 'other'

interface Metric {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  lines(): Iterable<string>
}

/** The numbers of one process, shown in the text format that Prometheus reads. */
export class Metrics {
  readonly #metrics: Metric[] = []

  counter(name: string, help: string, labelNames: readonly string[] = []): Counter {
    const counter = new Counter(name, labelNames)
    this.#metrics.push({ name, help, type: 'counter', lines: () => counter.lines() })
    return counter
  }

  histogram(name: string, help: string, labelNames: readonly string[], bounds: readonly number[]): Histogram {
    const histogram = new Histogram(name, labelNames, bounds)
    this.#metrics.push({ name, help, type: 'histogram', lines: () => histogram.lines() })
    return histogram
  }

  /** Read when it is asked for: what is known already is not counted twice. */
  gauge(name: string, help: string, labelNames: readonly string[], read: () => Iterable<Sample>): void {
    const lines = function* (): Iterable<string> {
      for (const { labels, value } of read()) yield line(name, labelNames, labels, value)
    }
    this.#metrics.push({ name, help, type: 'gauge', lines })
  }

  text(): string {
    const lines: string[] = []
    for (const metric of this.#metrics) {
      const { name, help, type } = metric
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...metric.lines())
    }
    return `${lines.join('\n')}\n`
  }
}

export class Counter {
  readonly #name: string
  readonly #labelNames: readonly string[]
  readonly #cells = new LabelSets<Cell>(() => ({ value: 0 }))

  constructor(name: string, labelNames: readonly string[]) {
    this.#name = name
    this.#labelNames = labelNames
  }

  cell(...labels: string[]): Cell {
    return this.#cells.get(labels)
  }

  *lines(): Iterable<string> {
    for (const [labels, { value }] of this.#cells.all()) yield line(this.#name, this.#labelNames, labels, value)
  }
}

export class Histogram {
  readonly #name: string
  readonly #labelNames: readonly string[]
  readonly #bounds: readonly number[]
  readonly #cells: LabelSets<HistogramCell>

  constructor(name: string, labelNames: readonly string[], bounds: readonly number[]) {
    this.#name = name
    this.#labelNames = labelNames
    this.#bounds = bounds
    this.#cells = new LabelSets(() => new HistogramCell(bounds))
  }

  cell(...labels: string[]): HistogramCell {
    return this.#cells.get(labels)
  }

  *lines(): Iterable<string> {
    const name = this.#name
    for (const [labels, cell] of this.#cells.all()) {
      let upTo = 0
      for (const [i, bound] of [...this.#bounds, Number.POSITIVE_INFINITY].entries()) {
        upTo += cell.counts[i]!
        const le = bound === Number.POSITIVE_INFINITY ? '+Inf' : String(bound)
        yield line(`${name}_bucket`, [...this.#labelNames, 'le'], [...labels, le], upTo)
      }
      yield line(`${name}_sum`, this.#labelNames, labels, cell.sum)
      yield line(`${name}_count`, this.#labelNames, labels, upTo)
    }
  }
}

export class HistogramCell {
  /** By bound; the last is for what lies above all of them. */
  readonly counts: number[]
  sum = 0
  readonly #bounds: readonly number[]

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  observe(value: number): void {
    let i = 0
    while (i < this.#bounds.length && value > this.#bounds[i]!) i += 1
    this.counts[i]! += 1
    this.sum += value
  }
}

class LabelSets<T> {
  readonly #make: () => T
  readonly #sets = new Map<string, { labels: readonly string[]; cell: T }>()

  constructor(make: () => T) {
    this.#make = make
  }

  get(labels: readonly string[]): T {
    // One label is nearly always enough to tell them apart, and then nothing is put together.
    const key = labels.length === 1 ? labels[0]! : labels.join('\0')
    const known = this.#sets.get(key)
    if (known) return known.cell
    if (this.#sets.size >= MOST_SETS && labels.some((label) => label !== OTHER))
      return this.get(labels.map(() => OTHER))
    const cell = this.#make()
    this.#sets.set(key, { labels: [...labels], cell })
    return cell
  }

  *all(): Iterable<[readonly string[], T]> {
    for (const { labels, cell } of this.#sets.values()) yield [labels, cell]
  }
}

function line(name: string, labelNames: readonly string[], labels: readonly string[], value: number): string {
  const pairs = labelNames.map((label, i) => `${label}="${escaped(labels[i] ?? '')}"`)
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
