import { escape } from './escape.ts'
import { axisFor, position, type Axis, type Scale } from './ticks.ts'

export interface Series {
  name: string
  /** One of the colours of the style, from 1 on. */
  colour: number
  points: readonly { x: number; y: number | null }[]
  isDashed?: boolean
  /** Of a share that rises from point to point rather than along a line. */
  isStep?: boolean
}

export interface PlotAxis {
  label: string
  text(value: number): string
  scale?: Scale
  /** Values that must be on it beside those of the series. */
  includes?: readonly number[]
  /** Ends at the last value, be it round or not. */
  isTight?: boolean
}

export interface LinePlot {
  title: string
  x: PlotAxis
  y: PlotAxis
  series: readonly Series[]
}

export const WIDTH = 640
export const HEIGHT = 300
const LEFT = 74
const RIGHT = 26
const TOP = 14
const BOTTOM = 56
const inner = { width: WIDTH - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM }

/** A plot as SVG, with classes for a style sheet to colour. Where a value is null a line has a gap. */
export function linePlot(plot: LinePlot): string {
  const x = axisOf(plot, 'x')
  const y = axisOf(plot, 'y')
  const left = (value: number): number => LEFT + position(x, value, inner.width)
  const top = (value: number): number => TOP + inner.height - position(y, value, inner.height)
  const lines = plot.series.map((series) => drawSeries(series, left, top))
  return [
    `<svg class="plot" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escape(plot.title)}">`,
    ...y.ticks.map(
      (tick) =>
        `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at(top(tick))}" y2="${at(top(tick))}"/>` +
        `<text class="tick" x="${LEFT - 8}" y="${at(top(tick))}" dy="0.35em" text-anchor="end">${escape(plot.y.text(tick))}</text>`,
    ),
    ...x.ticks.map(
      (tick) =>
        `<line class="mark" x1="${at(left(tick))}" x2="${at(left(tick))}" y1="${TOP + inner.height}" y2="${TOP + inner.height + 5}"/>` +
        `<text class="tick" x="${at(left(tick))}" y="${TOP + inner.height + 8}" dy="1em" text-anchor="middle">${escape(plot.x.text(tick))}</text>`,
    ),
    `<text class="label" x="${LEFT + inner.width / 2}" y="${HEIGHT - 5}" text-anchor="middle">${escape(plot.x.label)}</text>`,
    ...lines,
    '</svg>',
  ].join('\n')
}

/** The names of the lines, beside samples of them. */
export function legend(series: readonly Series[]): string {
  const entries = series.map(
    ({ name, colour, isDashed }) =>
      `<li><svg class="key" viewBox="0 0 24 8"><path class="line c${colour}${isDashed ? ' dashed' : ''}" d="M0 4H24"/></svg>${escape(name)}</li>`,
  )
  return `<ul class="legend">${entries.join('')}</ul>`
}

function axisOf({ series, ...plot }: LinePlot, which: 'x' | 'y'): Axis {
  const { scale = 'linear', includes = [], isTight = false } = plot[which]
  const values = series.flatMap(({ points }) => points.flatMap((point) => point[which] ?? []))
  const all = [...values, ...includes]
  const axis = axisFor(all, scale)
  const to = Math.max(...all)
  return isTight && to > axis.from ? { ...axis, to, ticks: axis.ticks.filter((tick) => tick <= to) } : axis
}

function drawSeries(
  { name, colour, points, isDashed, isStep }: Series,
  left: (value: number) => number,
  top: (value: number) => number,
): string {
  const path: string[] = []
  const alone: string[] = []
  points.forEach(({ x, y }, i) => {
    if (y === null) return
    const before = points[i - 1]?.y ?? null
    if (before === null) path.push(`M${at(left(x))} ${at(top(y))}`)
    else path.push(isStep ? `H${at(left(x))}V${at(top(y))}` : `L${at(left(x))} ${at(top(y))}`)
    // A point with a gap on both sides would be a line of no length.
    const isAlone = before === null && (points[i + 1]?.y ?? null) === null
    if (isAlone) alone.push(`<circle class="dot c${colour}" cx="${at(left(x))}" cy="${at(top(y))}" r="2.5"/>`)
  })
  const line = `<path class="line c${colour}${isDashed ? ' dashed' : ''}" d="${path.join('')}"><title>${escape(name)}</title></path>`
  return [line, ...alone].join('')
}

function at(value: number): string {
  return String(Math.round(value * 10) / 10)
}
