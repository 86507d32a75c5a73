import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { tempFolder } from '../../../../test/support/temp-folder.ts'
import { makePlan } from './make-plan.ts'

const planOf = (flags: Record<string, string>, model?: string) =>
  makePlan({ values: model === undefined ? [] : [model], own: new Map(Object.entries(flags)) })

function aMix(text: string): string {
  const path = join(tempFolder(), 'mix.yaml')
  writeFileSync(path, text)
  return path
}

describe('a plan from flags', () => {
  test('has defaults for all but model and rate', async () => {
    expect(await planOf({ rate: '5' }, 'skipper')).toEqual({
      parts: [
        {
          model: 'skipper',
          ratePerS: 5,
          prompt: { least: 200, most: 200 },
          answer: { least: 100, most: 100 },
          streamShare: 1,
          turns: { least: 1, most: 1 },
          thinkMs: { least: 0, most: 0 },
        },
      ],
      seed: 1,
      arrivals: 'poisson',
      forMs: 30_000,
      mostConversations: 100_000_000,
      rampMs: 0,
      warmUpMs: 0,
      mostInFlight: 1000,
      timeoutMs: 300_000,
    })
  })

  test('takes ranges, shares and times', async () => {
    const flags = {
      rate: '0.5',
      prompt: '50-400',
      stream: '80%',
      turns: '2-6',
      think: '500ms-2s',
      for: '1.5m',
      ramp: '10s',
    }
    expect(await planOf(flags, 'm')).toMatchObject({
      parts: [
        {
          ratePerS: 0.5,
          prompt: { least: 50, most: 400 },
          streamShare: 0.8,
          turns: { least: 2, most: 6 },
          thinkMs: { least: 500, most: 2000 },
        },
      ],
      forMs: 90_000,
      rampMs: 10_000,
    })
  })

  test('with a number of requests alone it lasts as long as they take', async () => {
    expect(await planOf({ rate: '1', requests: '7' }, 'm')).toMatchObject({ mostConversations: 7, forMs: 86_400_000 })
  })

  test.each([
    [{}, 'which model? Name one'],
    [{ rate: '0' }, '--rate: expected requests a second, from 0.001 to 20000, got "0"'],
    [{ rate: '-1' }, '--rate'],
    [{ rate: 'many' }, '--rate'],
    [{ rate: '1', for: '30' }, '--for: expected a time such as 30s, 5m or 1h, at most 24h, got "30"'],
    [{ rate: '1', for: '0s' }, '--for'],
    [{ rate: '1', prompt: '400-50' }, '--prompt: expected a number of tokens'],
    [{ rate: '1', prompt: '0' }, '--prompt'],
    [{ rate: '1', answer: '1-2-3' }, '--answer'],
    [{ rate: '1', stream: '180%' }, '--stream: expected a share of the requests, such as 80% or 0.8'],
    [{ rate: '1', turns: '1000' }, '--turns'],
    [{ rate: '1', think: '2h' }, '--think'],
    [{ rate: '1', arrivals: 'random' }, '--arrivals: expected poisson or constant, got "random"'],
    [{ rate: '1', seed: '-1' }, '--seed'],
    [{ rate: '1', 'most-in-flight': '0' }, '--most-in-flight'],
    [{ rate: '1', requests: '1.5' }, '--requests'],
  ])('%j is refused with %s', async (flags, words) => {
    const model = Object.keys(flags).length === 0 ? undefined : 'm'
    await expect(planOf(flags, model)).rejects.toThrow(words)
  })

  test('a rate is needed', async () => {
    await expect(planOf({}, 'm')).rejects.toThrow('how many requests a second? Say so with --rate')
  })
})

describe('a plan from a mix', () => {
  test('shares out the rate, and flags fill in what the file leaves open', async () => {
    const mix = aMix(
      '- { model: a, share: 3, prompt: 50-400, stream: 50% }\n- { model: b, share: 1, answer: 7, think: 2s }\n',
    )
    const { parts } = await planOf({ mix, rate: '20', prompt: '10', turns: '3' })
    expect(parts).toMatchObject([
      { model: 'a', ratePerS: 15, prompt: { least: 50, most: 400 }, streamShare: 0.5, turns: { least: 3, most: 3 } },
      { model: 'b', ratePerS: 5, prompt: { least: 10, most: 10 }, answer: { least: 7, most: 7 }, streamShare: 1 },
    ])
  })

  test('rates of their own count as they are, beside shares of the rest', async () => {
    const mix = aMix('- { model: a, rate: 2.5 }\n- { model: b, share: 1 }\n')
    expect((await planOf({ mix, rate: '4' })).parts.map(({ ratePerS }) => ratePerS)).toEqual([2.5, 4])
    await expect(planOf({ mix })).rejects.toThrow('has shares: of how many requests a second?')
    const own = aMix('- { model: a, rate: 1 }\n')
    await expect(planOf({ mix: own, rate: '4' })).rejects.toThrow('has a rate of its own: leave out --rate')
    await expect(planOf({ mix: own }, 'm')).rejects.toThrow('give a model or --mix, not both')
  })

  test.each([
    ['- model: a\n  rate: 1\n  promt: 3\n', ':3: [1].promt: there is no such setting; did you mean prompt?'],
    [
      '- model: a\n  rate: 1\n- model: b\n  rate: 0\n',
      ':4: [2].rate: expected requests a second, from 0.001 to 20000, got "0".',
    ],
    [
      '- model: a\n  rate: 1\n  think: soon\n',
      ':3: [1].think: expected a time such as 500ms, 2s or 2s-10s, at most 1h, got "soon".',
    ],
    ['- model: a\n', ':1: [1]: give either rate or share.'],
    ['- rate: 1\n', ':1: [1].model: expected the name of a model.'],
    ['- { model: a, rate: 1, share: 2 }\n', ':1: [1]: give either rate or share.'],
    ['- { model: a, share: 0 }\n', ':1: [1].share: expected a number above 0.'],
    ['model: a\n', ':1: expected a list, each entry with a model and a rate or a share.'],
    ['', ':1: expected a list'],
    ['[]', ':1: the list is empty.'],
    ['- model: [a\n', 'not valid YAML'],
  ])('%j is told with its line', async (text, words) => {
    const mix = aMix(text)
    await expect(planOf({ mix })).rejects.toThrow(words.startsWith(':') ? `${mix}${words}` : words)
  })

  test('a file that is not there is a mistake', async () => {
    await expect(planOf({ mix: '/nowhere/mix.yaml' })).rejects.toThrow('Cannot read /nowhere/mix.yaml')
  })
})
