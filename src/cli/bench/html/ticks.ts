export type Scale = 'linear' | 'log'

export interface Axis {
  scale: Scale
  from: number
  to: number
  /** Where lines and figures stand, within `from` and `to`. */
  ticks: number[]
}

/** What is smaller is nothing. */
const SMALLEST = 1e-9

/** Covers the values and ends at round numbers; a linear one begins at 0. Never without a length, whatever the values. */
export function axisFor(values: readonly number[], scale: Scale, mostTicks = 6): Axis {
  return scale === 'linear' ? linearAxis(Math.max(0, ...values), mostTicks) : logAxis(values, mostTicks)
}

/** Where on a way of this length a value lies. */
export function position({ scale, from, to }: Axis, value: number, length: number): number {
  if (scale === 'linear') return ((value - from) / (to - from)) * length
  return (Math.log(Math.max(value, from) / from) / Math.log(to / from)) * length
}

/** Steps of 1, 2 and 5. */
function linearAxis(most: number, mostTicks: number): Axis {
  const top = most > SMALLEST ? most : 1
  const step = roundUp(top / (mostTicks - 1))
  const count = Math.ceil(top / step - 1e-9)
  // Counted, not added up: sums of tenths are not round.
  const ticks = Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(12)))
  return { scale: 'linear', from: 0, to: ticks.at(-1)!, ticks }
}

/** Powers of ten, with 2 and 5 between them where there is room. */
function logAxis(values: readonly number[], mostTicks: number): Axis {
  const positive = values.filter((value) => value > SMALLEST)
  const [low, high] = positive.length > 0 ? [Math.min(...positive), Math.max(...positive)] : [1, 10]
  const steps = logSteps(low, high)
  const ticks = [steps, steps.filter((tick) => isPowerOfTen(tick))].find(
    (some) => some.length <= mostTicks && some.length > 1,
  )
  const shown =
    ticks ??
    thinned(
      steps.filter((tick) => isPowerOfTen(tick)),
      mostTicks,
      steps,
    )
  return { scale: 'log', from: steps[0]!, to: steps.at(-1)!, ticks: shown }
}

function logSteps(low: number, high: number): number[] {
  const steps: number[] = []
  for (let power = Math.floor(Math.log10(low)); ; power += 1) {
    for (const digit of [1, 2, 5]) {
      const tick = Number((digit * 10 ** power).toPrecision(6))
      const next = Number(((digit === 1 ? 2 : digit === 2 ? 5 : 10) * 10 ** power).toPrecision(6))
      if (next <= low) continue
      steps.push(tick)
      if (tick >= high && steps.length > 1) return steps
    }
  }
}

function thinned(ticks: readonly number[], most: number, others: readonly number[]): number[] {
  const some = ticks.length > 1 ? ticks : others
  const every = Math.ceil(some.length / most)
  return some.filter((_, i) => i % every === 0)
}

function isPowerOfTen(value: number): boolean {
  return Number.isInteger(Math.round(Math.log10(value) * 1e6) / 1e6)
}

function roundUp(step: number): number {
  const unit = 10 ** Math.floor(Math.log10(step))
  return unit * ([1, 2, 5, 10].find((digit) => digit * unit >= step * (1 - 1e-9)) ?? 10)
}
