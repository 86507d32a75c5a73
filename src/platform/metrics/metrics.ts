import { HistogramCell } from './histogram-cell.ts'
import { LabelSets } from './label-sets.ts'

/** One number of a metric, for one label set. The caller keeps it, so that counting is an addition. */
export interface Cell {
  value: number
}

/** The current value of a metric for one label set. */
export interface Sample {
  labels: readonly string[]
  value: number
}

export interface Definition {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  labelNames: readonly string[]
  /** Upper bounds of a histogram, without the infinite last one. */
  bounds: readonly number[]
}

/** One line of a metric: `suffix` is what follows its name, and `le` the bound of a histogram's bucket. */
export interface Point extends Sample {
  suffix: '' | '_bucket' | '_sum' | '_count'
  le?: number
}

/** A metric with its current values. */
export interface Family extends Definition {
  points(): Iterable<Point>
}

/** A source of metrics. */
export interface FamilySource {
  families(): Iterable<Family>
}

/**
 * The metrics of one process. Roles in the same process share them: defining a metric again returns the existing one,
 * and a gauge is the sum over all its readers.
 */
export class Metrics implements FamilySource {
  readonly #families = new Map<string, Family & { made?: Counter | Histogram; readers?: Reader[] }>()

  counter(name: string, help: string, labelNames: readonly string[] = []): Counter {
    const known = this.#families.get(name)
    if (known) return known.made as Counter
    const made = new Counter()
    this.#families.set(name, { ...plain(name, help, 'counter', labelNames), made, points: () => made.points() })
    return made
  }

  histogram(name: string, help: string, labelNames: readonly string[], bounds: readonly number[]): Histogram {
    const known = this.#families.get(name)
    if (known) return known.made as Histogram
    const made = new Histogram(bounds)
    const definition = { ...plain(name, help, 'histogram', labelNames), bounds }
    this.#families.set(name, { ...definition, made, points: () => made.points() })
    return made
  }

  /**
   * A gauge that is read on demand, so that known figures are not kept twice. `rest` decides about label sets beyond
   * the limit: their sum under `other`, or the highest of them.
   */
  gauge(name: string, help: string, labelNames: readonly string[], read: Reader, rest: Rest = 'sum'): void {
    this.#read('gauge', name, help, labelNames, read, rest)
  }

  /** The same for a counter that is kept elsewhere. */
  counted(name: string, help: string, labelNames: readonly string[], read: Reader): void {
    this.#read('counter', name, help, labelNames, read, 'sum')
  }

  families(): Iterable<Family> {
    return this.#families.values()
  }

  #read(
    type: 'gauge' | 'counter',
    name: string,
    help: string,
    labelNames: readonly string[],
    read: Reader,
    rest: Rest,
  ): void {
    const known = this.#families.get(name)
    if (known) return void known.readers!.push(read)
    const readers = [read]
    const points = (): Iterable<Point> => limited(readers, labelNames.length, rest)
    this.#families.set(name, { ...plain(name, help, type, labelNames), readers, points })
  }
}

type Reader = () => Iterable<Sample>
type Rest = 'sum' | 'max'

function plain(name: string, help: string, type: Definition['type'], labelNames: readonly string[]): Definition {
  return { name, help, type, labelNames, bounds: [] }
}

/** Each label set once, up to the limit. */
function* limited(readers: readonly Reader[], labels: number, rest: Rest): Iterable<Point> {
  const cells = new LabelSets<Cell>(() => ({ value: Number.NaN }))
  for (const read of readers) {
    for (const { labels: values, value } of read()) {
      const cell = cells.get(values)
      const isMax = rest === 'max'
      cell.value = Number.isNaN(cell.value) ? value : isMax ? Math.max(cell.value, value) : cell.value + value
    }
  }
  for (const [values, { value }] of cells.all()) yield { suffix: '', labels: values.slice(0, labels), value }
}

export class Counter {
  readonly #cells = new LabelSets<Cell>(() => ({ value: 0 }))

  cell(...labels: string[]): Cell {
    return this.#cells.get(labels)
  }

  /** Removes a label set whose subject is gone for good. */
  forget(...labels: string[]): void {
    this.#cells.delete(labels)
  }

  *points(): Iterable<Point> {
    for (const [labels, { value }] of this.#cells.all()) yield { suffix: '', labels, value }
  }
}

export class Histogram {
  readonly #bounds: readonly number[]
  readonly #cells: LabelSets<HistogramCell>

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#cells = new LabelSets(() => new HistogramCell(bounds))
  }

  cell(...labels: string[]): HistogramCell {
    return this.#cells.get(labels)
  }

  *points(): Iterable<Point> {
    for (const [labels, cell] of this.#cells.all()) {
      let upTo = 0
      for (const [i, le] of [...this.#bounds, Number.POSITIVE_INFINITY].entries()) {
        upTo += cell.counts[i]!
        yield { suffix: '_bucket', labels, le, value: upTo }
      }
      yield { suffix: '_sum', labels, value: cell.sum }
      yield { suffix: '_count', labels, value: upTo }
    }
  }
}
