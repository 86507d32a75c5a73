import type { Command } from '../command.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const

export const completionCommand: Command = {
  name: 'completion',
  summary: 'Let the shell complete commands: for bash, zsh or fish',
  about:
    'Prints a script for the shell that is named; the examples put it where that shell looks. For a while only:\n' +
    'eval "$(flotilla completion bash)", and the same for zsh.',
  arguments: [{ name: 'shell', values: SHELLS }],
  options: [],
  examples: [
    'flotilla completion bash \\\n    > ~/.local/share/bash-completion/completions/flotilla',
    'flotilla completion zsh > "${fpath[1]}/_flotilla"',
    'flotilla completion fish > ~/.config/fish/completions/flotilla.fish',
  ],
}
