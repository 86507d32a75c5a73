import { describe, expect, test } from 'vitest'
import { helpText, listText } from './arguments-help.ts'
import { commandLine, defaultArguments, parseArguments, type Arguments } from './arguments.ts'

const choices = {
  faults: { 'kill-worker': 'the worker dies alone', partition: 'a node is cut off' },
  bugs: { 'stacked-spread': 'all on one node' },
}

test('nothing given means the defaults', () => {
  expect(argumentsOf('')).toEqual(defaultArguments)
})

test('everything can be given', () => {
  const given = '--seed 7 --seeds 3 --nodes 50 --models 9 --jobs 2 --faults partition,kill-worker --bug stacked-spread'
  expect(argumentsOf(`${given} --only-faults 1-3,9 --json --keep-going --shrink-s 5 --lines 80`)).toEqual({
    ...defaultArguments,
    seed: 7,
    seeds: 3,
    nodes: 50,
    models: 9,
    jobs: 2,
    bug: 'stacked-spread',
    shrinkS: 5,
    lines: 80,
    faults: ['partition', 'kill-worker'],
    onlyFaults: [1, 2, 3, 9],
    asJson: true,
    keepsGoing: true,
  })
  expect(argumentsOf('--no-shrink').shrinkS).toBe(0)
})

test.each([
  ['90s', 90_000],
  ['30m', 1_800_000],
  ['1.5h', 5_400_000],
  ['2d', 172_800_000],
  ['forever', Infinity],
])('--soak %s', (text, ms) => {
  expect(argumentsOf(`--soak ${text}`).soakMs).toBe(ms)
})

test('lists and help are asked for by name', () => {
  expect(parse('--faults list')).toEqual({ kind: 'faults' })
  expect(parse('--bug list')).toEqual({ kind: 'bugs' })
  expect(parse('--help --seed 1')).toEqual({ kind: 'help' })
  expect(parse('--planted')).toMatchObject({ kind: 'planted' })
})

describe('a mistake is told in one line', () => {
  test.each([
    ['--sed 1', 'there is no option --sed. Did you mean --seed?'],
    ['--zebra', 'there is no option --zebra.'],
    ['-s 1', 'there is no option -s.'],
    ['7', 'unexpected "7".'],
    ['--nodes 0', '--nodes takes a whole number from 1 to 500.'],
    ['--nodes 1.5', '--nodes takes a whole number from 1 to 500.'],
    ['--seed', '--seed takes a whole number from 0 to 2147483647.'],
    ['--seed=', '--seed takes a whole number from 0 to 2147483647.'],
    ['--hours 0', '--hours takes a number from 0.001 to 720.'],
    ['--hours many', '--hours takes a number from 0.001 to 720.'],
    ['--soak 30', '--soak takes a time such as 90s, 30m, 8h or 2d, or "forever".'],
    ['--soak 0s', '--soak takes a time such as 90s, 30m, 8h or 2d, or "forever".'],
    ['--soak', '--soak takes a time such as 90s, 30m, 8h or 2d, or "forever".'],
    ['--soak 30m --seeds 3', '--soak runs until its time is over: leave out --seeds.'],
    [
      '--faults partitoin',
      'there is no kind of fault "partitoin". Did you mean partition? "--faults list" shows them.',
    ],
    ['--faults partition,', '--faults takes names with commas between them; "--faults list" shows them.'],
    ['--faults', '--faults takes names with commas between them; "--faults list" shows them.'],
    ['--bug all', 'there is no planted bug "all". "--bug list" shows them.'],
    ['--only-faults 3-1', '--only-faults takes numbers of faults such as 3,7-9, or "none".'],
    ['--seed 1 --seed 2', '--seed is given twice.'],
    ['--json=yes', '--json takes no value.'],
    ['--no-shrink --shrink-s 3', '--no-shrink leaves no use for --shrink-s.'],
  ])('%s', (line, what) => {
    expect(parse(line)).toEqual({ kind: 'mistake', message: `npm run sim: ${what} See npm run sim -- --help.` })
  })
})

test('what is to be typed for one run again is read as that run', () => {
  const asked: Arguments = {
    ...argumentsOf('--nodes 4 --hours 24 --until 0.137 --faults partition --bug stacked-spread'),
    onlyFaults: [2, 3, 4, 8],
  }
  const line = commandLine(asked, 12)
  expect(line).toBe(
    'npm run sim -- --seed 12 --seeds 1 --nodes 4 --hours 24 --until 0.137 --faults partition --only-faults 2-4,8 --bug stacked-spread',
  )
  expect(argumentsOf(line.replace('npm run sim -- ', ''))).toEqual({ ...asked, seed: 12, seeds: 1 })
})

test('help and lists fit 80 columns', () => {
  const long = { ...choices.faults, 'a-name': 'with very many words '.repeat(9).trim() }
  const lines = `${helpText()}${listText('Kinds of faults:', long)}`.split('\n')
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
})

function parse(line: string) {
  return parseArguments(line.split(' ').filter(Boolean), choices)
}

function argumentsOf(line: string): Arguments {
  const parsed = parse(line)
  if (parsed.kind !== 'run') throw new Error(JSON.stringify(parsed))
  return parsed.arguments
}
