import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { help as llamaHelp } from '../../../engines/llama/options.ts'
import { help as simHelp } from '../../../engines/sim/options.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { builtInProfiles } from './built-in.ts'
import { commandLine, type LineValues } from './command-line.ts'
import { findOnMachine, programOf } from './find-program.ts'

/** Starts a profile for real, with programs from a folder of fakes, and hears what it says. */
function start(name: string, values: Partial<LineValues>, bin: string): { child: ChildProcess; said: () => string } {
  const profile = builtInProfiles.find((profile) => profile.name === name)!
  const program = findOnMachine(programOf(profile), bin)!
  const { argv, env } = commandLine(profile, { program, port: 20_001, model: 'm', options: {}, ...values })
  const [first, ...args] = argv
  const child = spawn(first, args, { env: { PATH: `${bin}:${process.env['PATH']}`, ...env }, detached: true })
  onTestFinished(() => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // It has ended.
    }
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (said += chunk.toString()))
  return { child, said: () => said }
}

function fake(bin: string, name: string, script: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
  chmodSync(join(bin, name), 0o755)
}

test.each(['llama-server', 'vllm', 'sglang', 'whisper-server', 'text-embeddings-inference', 'mlx-lm'])(
  'the program of %s gets its arguments one by one',
  async (name) => {
    const bin = tempFolder()
    const program = programOf(builtInProfiles.find((profile) => profile.name === name)!)
    fake(bin, program, 'for word in "$@"; do echo "<$word>"; done; echo end')
    const { said } = start(name, { modelPath: '/models/a b' }, bin)
    await until(() => said().endsWith('end\n'))
    expect(said()).toMatch(/\/models\/a b>/)
    expect(said()).toContain('127.0.0.1')
    expect(said()).toContain('20001')
  },
)

const ollama = `
echo "ollama $*" >> "$(dirname "$0")/calls"
case "$1" in
  serve) trap 'echo "server ends"; exit 0' TERM; echo "on $OLLAMA_HOST"; : > "$(dirname "$0")/up"; while :; do sleep 0.05; done;;
  list) [ -e "$(dirname "$0")/up" ];;
  pull) echo "pulling $2"; [ "$2" != none ];;
  run) [ "$3" = "" ];;
esac`

test('ollama serves, fetches its model, says when it is there, and ends when asked', async () => {
  const bin = tempFolder()
  fake(bin, 'ollama', ollama)
  const { child, said } = start('ollama', { source: 'ollama:llama3.2:3b' }, bin)
  await until(() => /^flotilla: the model is there$/m.test(said()))
  expect(said()).toContain('on 127.0.0.1:20001')
  expect(readFileSync(join(bin, 'calls'), 'utf8')).toMatch(
    /ollama serve\n[^]*ollama pull llama3.2:3b\nollama run llama3.2:3b/,
  )
  const ended = new Promise((resolve) => child.once('exit', resolve))
  process.kill(-child.pid!, 'SIGTERM')
  await ended
  expect(said()).toContain('server ends')
})

test('ollama fails when its model cannot be fetched, and when its server does not start', async () => {
  const bin = tempFolder()
  fake(bin, 'ollama', ollama)
  const unknown = start('ollama', { source: 'ollama:none' }, bin)
  expect(await new Promise((resolve) => unknown.child.once('exit', resolve))).toBe(1)
  const broken = tempFolder()
  fake(broken, 'ollama', '[ "$1" = serve ] && echo "port in use" && exit 1; exit 1')
  const dead = start('ollama', { source: 'ollama:x' }, broken)
  expect(await new Promise((resolve) => dead.child.once('exit', resolve))).toBe(1)
  expect(existsSync(join(broken, 'up'))).toBe(false)
})

test('sim starts and serves', async () => {
  const { said } = start('sim', { port: 0, options: { load_ms: 0 } }, tempFolder())
  await until(() => said().includes('listening on http://127.0.0.1:'))
  const [, address] = /listening on (\S+)/.exec(said())!
  await until(async () => (await fetch(`${address}/health`)).status === 200)
  expect(await (await fetch(`${address}/v1/models`)).json()).toMatchObject({ data: [{ id: 'm' }] })
})

test('command runs any shell line', async () => {
  const options = { command: 'echo serving {{model}} on $FLOTILLA_PORT; exec sleep 1000' }
  const { said } = start('command', { model: "it's", options }, tempFolder())
  await until(() => said().includes('\n'))
  expect(said()).toBe("serving it's on 20001\n")
})

test.each([
  ['sim', simHelp],
  ['llama', llamaHelp],
])('the profile of %s names each option that its program takes, and no other', (name, help) => {
  const profile = builtInProfiles.find((one) => one.name === name)!
  const flags = [...help.matchAll(/^  --([a-z-]+)/gm)].map(([, flag]) => flag!.replaceAll('-', '_'))
  const ours = new Set(['help', 'port', 'host', 'library', 'model', 'alias'])
  const everyEngine = ['context', 'parallel']
  const memory = [profile.uses.bytes_option].filter((one) => one !== undefined)
  const named = [...profile.option_names!, ...everyEngine, ...memory]
  expect(named.toSorted()).toEqual(flags.filter((flag) => !ours.has(flag)).toSorted())
})
