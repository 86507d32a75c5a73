import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { banner, curlLine } from './banner.ts'
import { commands } from './commands.ts'
import { options, type Option } from './config/options.ts'
import { commandHelp, generalHelp, subcommandHelp } from './help.ts'
import { parseArguments } from './parse-arguments.ts'

describe('the command line', () => {
  test('flags are taken as --name value and --name=value', () => {
    const parsed = parseArguments(['up', '--listen', '127.0.0.1:1', '--node-name=thor', '--config', 'x.yaml'])
    expect(parsed).toMatchObject({ kind: 'run', command: { name: 'up' }, configFile: 'x.yaml' })
    expect(parsed.kind === 'run' && [...parsed.flags]).toEqual([
      ['listen', { value: '127.0.0.1:1', where: '--listen' }],
      ['node_name', { value: 'thor', where: '--node-name' }],
    ])
  })

  test('a flag that needs no value takes none of the words', () => {
    const parsed = parseArguments(['nodes', '--json', 'drain', '--wait', 'gpu-1', '--url=http://x'])
    expect(parsed).toMatchObject({ kind: 'run', subcommand: { name: 'drain' }, values: ['gpu-1'] })
    expect(parsed.kind === 'run' && [...parsed.own]).toEqual([['wait', 'true']])
    expect(parsed.kind === 'run' && [...parsed.flags]).toEqual([
      ['json', { value: 'true', where: '--json' }],
      ['url', { value: 'http://x', where: '--url' }],
    ])
    const off = parseArguments(['up', '--auto-approve=false'])
    expect(off.kind === 'run' && off.flags.get('auto_approve')?.value).toBe('false')
  })

  test('without a subcommand the first is meant', () => {
    expect(parseArguments(['nodes'])).toMatchObject({ kind: 'run', subcommand: { name: 'list' }, values: [] })
    expect(parseArguments(['token', '--json'])).toMatchObject({ kind: 'run', subcommand: { name: 'list' } })
  })

  test('a word that means the same elsewhere is taken, where it can mean one thing only', () => {
    expect(parseArguments(['nodes', 'ls'])).toMatchObject({ subcommand: { name: 'list' } })
    expect(parseArguments(['rules', 'rm', 'm'])).toMatchObject({ subcommand: { name: 'remove' }, values: ['m'] })
    expect(parseArguments(['engines', 'remove', 'vllm', '--all'])).toMatchObject({ subcommand: { name: 'delete' } })
    expect(parseArguments(['keys', 'delete', 'k'])).toMatchObject({ subcommand: { name: 'revoke' } })
    expect(() => parseArguments(['models', 'rm', 'm'])).toThrow('there is no "rm"')
  })

  test('some take any number of words', () => {
    expect(parseArguments(['nodes', 'approve', 'a', 'b'])).toMatchObject({ values: ['a', 'b'] })
    expect(parseArguments(['nodes', 'label', 'a', 'k=v', 'gone-'])).toMatchObject({ values: ['a', 'k=v', 'gone-'] })
  })

  test('a command without subcommands may have words and flags of its own, and flags one letter', () => {
    const parsed = parseArguments(['logs', 'qwen#1', '-f', '-n', '5', '--node', 'a', '--node=b'])
    expect(parsed).toMatchObject({ kind: 'run', command: { name: 'logs' }, subcommand: undefined, values: ['qwen#1'] })
    expect(parsed.kind === 'run' && [...parsed.own]).toEqual([
      ['follow', 'true'],
      ['lines', '5'],
      ['node', 'b'],
    ])
    expect(parsed.kind === 'run' && [...parsed.lists]).toEqual([['node', ['a', 'b']]])
    expect(parseArguments(['logs', '-fn5', 'qwen'])).toMatchObject({ values: ['qwen'] })
  })

  test('what follows -- is taken as it stands', () => {
    const args = ['engines', 'install', 'vllm', '--all', '--', 'pip', '--help', '--', '-x']
    expect(parseArguments(args)).toMatchObject({ kind: 'run', values: ['vllm'], rest: ['pip', '--help', '--', '-x'] })
    expect(parseArguments(['engines', 'install', 'vllm', '--all'])).toMatchObject({ kind: 'run', rest: undefined })
  })

  test.each([[['nodes', 'drain', '--help']], [['help', 'nodes', 'drain']], [['nodes', 'help', 'drain']]])(
    '%j shows the help of the subcommand',
    (args) => {
      expect(parseArguments(args)).toMatchObject({ kind: 'help', subcommand: { name: 'drain' } })
    },
  )

  test.each([[[]], [['--help']], [['-h']], [['help']]])('%j shows the general help', (args) => {
    expect(parseArguments(args)).toEqual({ kind: 'help', command: undefined })
  })

  test.each([[['up', '--help']], [['up', '--listen', 'x', '-h']], [['help', 'up']]])(
    '%j shows the help of the command',
    (args) => {
      expect(parseArguments(args)).toMatchObject({ kind: 'help', command: { name: 'up' } })
    },
  )

  test.each([
    [['pu'], 'There is no command "pu". Did you mean up? See flotilla --help.'],
    [
      ['serve'],
      'There is no command "serve". There is: up, frontend, gateway, worker, status, top, doctor, dashboard, nodes, models, run, bench, rules, plan, apply, export, whatif, import, engines, logs, why, token, keys, nats, db, completion. See flotilla --help.',
    ],
    [['node'], 'There is no command "node". Did you mean nodes? See flotilla --help.'],
    [
      ['--listen', 'x'],
      'A command comes first. There is: up, frontend, gateway, worker, status, top, doctor, dashboard, nodes, models, run, bench, rules, plan, apply, export, whatif, import, engines, logs, why, token, keys, nats, db, completion. See flotilla --help.',
    ],
    [['up', '--lisen', 'x'], 'flotilla up: there is no option --lisen; did you mean --listen? See flotilla up --help.'],
    [['up', '--wings'], 'flotilla up: there is no option --wings. See flotilla up --help.'],
    [['up', '--listen'], 'flotilla up: --listen needs a value. See flotilla up --help.'],
    [['up', 'now'], 'flotilla up: unexpected "now". See flotilla up --help.'],
    [['up', '-x'], 'flotilla up: there is no option -x. See flotilla up --help.'],
    [['up', '--'], 'flotilla up: unexpected "--". See flotilla up --help.'],
    [['up', '--listen', '--data', 'x'], 'flotilla up: --listen needs a value. See flotilla up --help.'],
    [['up', '--join', 'x'], 'flotilla up: there is no option --join. See flotilla up --help.'],
    [['nodes', 'lst'], 'flotilla nodes: there is no "lst"; did you mean list? See flotilla nodes --help.'],
    [
      ['nodes', 'gpu-1'],
      'flotilla nodes: there is no "gpu-1"; there is list, show, approve, drain, resume, accept-loss,',
    ],
    [['help', 'nodes', 'aprove'], 'flotilla nodes: there is no "aprove"; did you mean approve?'],
    [['nodes', 'drain'], 'flotilla nodes drain: which node? See flotilla nodes drain --help.'],
    [['nodes', 'drain', 'a', 'b'], 'flotilla nodes drain: unexpected "b". See flotilla nodes drain --help.'],
    [['nodes', 'list', '--wait'], 'flotilla nodes list: there is no option --wait. See flotilla nodes list --help.'],
    [['nodes', 'drain', 'a', '--wiat'], 'there is no option --wiat; did you mean --wait?'],
    [['nodes', '--ulr', 'http://x'], 'flotilla nodes: there is no option --ulr; did you mean --url?'],
    [['logs', 'a', 'b'], 'flotilla logs: unexpected "b". See flotilla logs --help.'],
    [['logs', '--folow'], 'flotilla logs: there is no option --folow; did you mean --follow?'],
    [['models', 'unload', '--all'], 'flotilla models unload: which model[#n]? See flotilla models unload --help.'],
    [['models', 'delete', 'm', '--all', '--node', 'a'], 'flotilla models delete: give --node or --all, not both.'],
    [['nodes', 'drain', '--', 'a'], 'flotilla nodes drain: unexpected "--". See flotilla nodes drain --help.'],
    [['token', 'create', '--uses'], 'flotilla token create: --uses needs a value. See flotilla token create --help.'],
  ])('%j is refused in one line', (args, message) => {
    expect(() => parseArguments(args)).toThrow(message)
  })
})

describe('help', () => {
  const texts = [
    generalHelp(),
    ...commands.flatMap((command) => [
      commandHelp(command, { HOME: '/home/me' }),
      ...(command.subcommands ?? []).map((subcommand) => subcommandHelp(command, subcommand)),
    ]),
  ]

  test('fits a terminal of 80 columns', () => {
    for (const line of texts.join('\n').split('\n')) expect(line.length, line).toBeLessThanOrEqual(80)
  })

  test('of a command names every option it takes, with its default', () => {
    for (const command of commands) {
      const text = commandHelp(command, { HOME: '/home/me' })
      for (const name of command.options) {
        const option: Option<unknown> = options[name]
        expect(text).toContain(`  --${name.replaceAll('_', '-')}${option.switch ? '\n' : ` <${option.value}>\n`}`)
      }
      for (const { name, summary } of command.subcommands ?? [])
        expect(text).toMatch(new RegExp(`^  ${name} .*${summary.slice(0, 9)}`, 'm'))
    }
  })

  test('tells the default that holds in that command', () => {
    const helpOf = (name: string): string =>
      commandHelp(
        commands.find((command) => command.name === name)!,
        {},
      )
    expect(helpOf('up')).toContain('(default 127.0.0.1:8080)')
    expect(helpOf('up')).toContain('(default\n      127.0.0.1:0)')
    expect(helpOf('worker')).toContain('(default\n      0.0.0.0:9090)')
  })

  test('every example is a command that can be given', () => {
    const examples = commands.flatMap(({ examples, subcommands = [] }) => [
      ...examples,
      ...subcommands.flatMap((subcommand) => subcommand.examples),
    ])
    for (const example of examples) {
      const [line] = example.replaceAll('\\\n', '').split(/ [>|] /)
      const [, ...args] = line!.match(/"[^"]*"|\S+/g)!
      expect(parseArguments(args.map((word) => word.replaceAll('"', ''))).kind, example).toBe('run')
    }
  })
})

describe('the banner', () => {
  const up = {
    url: 'http://127.0.0.1:8080',
    dashboard: 'http://127.0.0.1:8080/sign-in#flo_once',
    folder: '/data',
    models: ['sim'],
    version: '1.2.3',
    colour: false,
  }

  test('tells endpoint, dashboard, data folder and where the admin key is, and never the key', () => {
    const text = banner(up)
    for (const needed of [
      'http://127.0.0.1:8080/v1',
      'http://127.0.0.1:8080/sign-in#flo_once\n',
      '/data\n',
      '/data/admin.key',
      'curl -N',
    ]) {
      expect(text).toContain(needed)
    }
  })

  test('where local inference is off, the command shows the key by its file', () => {
    const text = banner({ ...up, localInference: false, folder: '/my data' })
    expect(text).toContain(`-H "authorization: Bearer $(cat '/my data/admin.key')"`)
    expect(text).toContain('--local-inference on')
    expect(banner(up)).not.toContain('authorization')
  })

  test('without a ready model it prints no command that would fail', () => {
    expect(banner({ ...up, models: [] })).not.toContain('curl')
  })

  test('the command survives a shell, whatever the model is called', () => {
    const line = curlLine('http://127.0.0.1:1', `it's "$HOME" \`x\``).replace(/^curl/, 'printf "%s\\n"')
    const args = execFileSync('sh', ['-c', line], { encoding: 'utf8' }).trim().split('\n')
    expect(JSON.parse(args.at(-1)!)).toMatchObject({ model: `it's "$HOME" \`x\``, stream: true })
  })
})
