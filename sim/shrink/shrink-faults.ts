import type { Scenario } from '../simulate.ts'

/** The numbers of the faults that happened in a run of this scenario, when so many did: the first has the number 1. */
export function faultsOf({ mostFaults = Infinity, skipFaults }: Scenario, injected: number): number[] {
  const numbers: number[] = []
  for (let number = 1; numbers.length < injected && number <= mostFaults; number += 1) {
    if (!skipFaults?.has(number)) numbers.push(number)
  }
  return numbers
}

/** The same with these faults and no other. Each fault has its own chance, so those that are kept stay as they were. */
export function withFaults(scenario: Scenario, kept: readonly number[]): Scenario {
  const mostFaults = kept.at(-1) ?? 0
  const isKept = new Set(kept)
  const skipFaults = new Set<number>()
  for (let number = 1; number < mostFaults; number += 1) if (!isKept.has(number)) skipFaults.add(number)
  return { ...scenario, mostFaults, skipFaults }
}

/** `1-4,9`, or `none`. */
export function faultNumbersText(numbers: readonly number[]): string {
  const ranges: { first: number; last: number }[] = []
  for (const number of numbers) {
    const range = ranges.at(-1)
    if (range && range.last === number - 1) range.last = number
    else ranges.push({ first: number, last: number })
  }
  return ranges.map(({ first, last }) => (first === last ? first : `${first}-${last}`)).join(',') || 'none'
}

/** More than any run injects. */
const MOST_NUMBER = 1_000_000

/** The other way round, in ascending order; undefined when it makes no sense. */
export function parseFaultNumbers(text: string): number[] | undefined {
  if (text === 'none') return []
  const numbers = new Set<number>()
  for (const part of text.split(',')) {
    const [, first, last] = /^([1-9]\d{0,6})(?:-([1-9]\d{0,6}))?$/.exec(part) ?? []
    const [from, to] = [Number(first), Number(last ?? first)]
    if (!first || from > to || to > MOST_NUMBER) return undefined
    for (let number = from; number <= to; number += 1) numbers.add(number)
  }
  return [...numbers].toSorted((a, b) => a - b)
}
