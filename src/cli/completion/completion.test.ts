import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { flotilla } from '../../../test/support/cli/cli.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { commands } from '../commands.ts'
import { completionScript } from './scripts.ts'

describe('in bash', () => {
  /** What bash offers after these words; the last is the one that is being typed. */
  function offered(...words: string[]): string[] {
    const folder = tempFolder()
    const file = join(folder, 'flotilla.bash')
    writeFileSync(file, completionScript('bash', commands))
    const array = ['flotilla', ...words].map((word) => `'${word}'`).join(' ')
    const line = `source '${file}'; COMP_WORDS=(${array}); COMP_CWORD=${words.length}; _flotilla; printf '%s\\n' "\${COMPREPLY[@]}"`
    const text = execFileSync('bash', ['--norc', '-u', '-c', line], { encoding: 'utf8', cwd: folder })
    return text.split('\n').filter((word) => word !== '')
  }

  test('commands, subcommands and their flags are offered', () => {
    expect(offered('')).toEqual(commands.map(({ name }) => name))
    expect(offered('sta')).toEqual(['status'])
    expect(offered('nodes', 'd')).toEqual(['drain'])
    expect(offered('nodes', 'drain', '--w')).toEqual(['--wait'])
    expect(offered('nodes', 'list', '--w')).toEqual([])
    expect(offered('status', '--js')).toEqual(['--json'])
    expect(offered('completion', '')).toEqual(['bash', 'zsh', 'fish'])
  })

  test('the value of a flag is not taken for a subcommand, and files are offered for it', () => {
    expect(offered('nodes', '--url', 'http://x', 'dr')).toEqual(['drain'])
    expect(offered('nodes', '--json', 'dr')).toEqual(['drain'])
    expect(offered('up', '--config', 'no-such-')).toEqual([])
    expect(offered('nodes', 'drain', 'gpu-1', '--w')).toEqual(['--wait'])
  })
})

test.each(['zsh', 'fish'] as const)(
  '%s reads its script, where it is installed, and it names every command',
  (shell) => {
    const script = completionScript(shell, commands)
    for (const { name, subcommands = [] } of commands) {
      expect(script).toContain(name)
      for (const one of subcommands) expect(script).toContain(one.name)
    }
    const file = join(tempFolder(), 'flotilla')
    writeFileSync(file, script)
    const { error, status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' })
    if (!error) expect([status, stderr]).toEqual([0, ''])
  },
)

test('it is printed as it is, and another shell is told what there is', async () => {
  const { stdout, code } = await flotilla(['completion', 'bash'])
  expect([stdout, code]).toEqual([completionScript('bash', commands), 0])
  expect(await flotilla(['completion', 'zhs'])).toMatchObject({
    code: 2,
    stderr: 'There is no completion for "zhs", only for bash, zsh, fish. Try flotilla completion zsh.\n',
  })
})
