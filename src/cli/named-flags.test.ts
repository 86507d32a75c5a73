import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { flagOf, options, type OptionName } from './config/options.ts'
import { commands } from './commands.ts'

const source = join(import.meta.dirname, '..')

/** What a frontend is started from: this file, and each that takes its whole configuration. */
const files = readdirSync(join(source, 'app'), { recursive: true, encoding: 'utf8' }).filter((name) =>
  /\/(frontend|start-frontend|open-.*|models-folder-of)\.ts$/.test(name),
)

test('a frontend takes each option that it reads', () => {
  const text = files.map((name) => readFileSync(join(source, 'app', name), 'utf8')).join('\n')
  const read = (Object.keys(options) as OptionName[]).filter((name) => new RegExp(`config\\.${name}\\b`).test(text))
  expect(read.length).toBeGreaterThan(10)
  const taken = commands.find(({ name }) => name === 'frontend')!.options
  expect(read.filter((name) => !taken.includes(name)).map(flagOf)).toEqual([])
})

test('an error that names an option for a worker and a frontend names one that both take', () => {
  const text = readFileSync(join(source, 'model-files/source/reach.ts'), 'utf8')
  const [, flag] = /start the worker and the frontend with (--[a-z-]+)/.exec(text)!
  for (const name of ['worker', 'frontend']) {
    expect(commands.find((command) => command.name === name)!.options.map(flagOf)).toContain(flag)
  }
})
