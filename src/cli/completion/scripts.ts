import type { Command } from '../command.ts'
import { flagsWithValue, placesOf, toWord, type Word } from './words.ts'
import type { SHELLS } from './command.ts'

/** A script that makes the shell complete `flotilla`, with nothing to run while it does. */
export function completionScript(shell: (typeof SHELLS)[number], commands: readonly Command[]): string {
  return { bash, zsh, fish }[shell](commands)
}

function bash(commands: readonly Command[]): string {
  const cases = placesOf(commands).map(({ path, words, flags }) => {
    return `    '${path}') words='${list(words)}'; flags='${list(flags)}' ;;`
  })
  return `# Completion of flotilla for bash: eval "$(flotilla completion bash)"
_flotilla() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
  local path='' count=0 skip='' words='' flags='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ -n $skip ]]; then skip=''; continue; fi
    case "\${COMP_WORDS[i]}" in
      ${flagsWithValue(commands).join('|')}) skip=1 ;;
      -*) ;;
      *) ((count++ < 2)) && path+="\${path:+ }\${COMP_WORDS[i]}" ;;
    esac
  done
  COMPREPLY=()
  # What is to follow is the value of a flag, mostly a file.
  if [[ -n $skip ]]; then COMPREPLY=($(compgen -f -- "$cur")); return; fi
  case "$path" in
    '') words='${list(commands.map(toWord))}'; flags='--help --version' ;;
${cases.join('\n')}
    *) case "\${path%% *}" in
${commands.map(({ name }) => `      '${name}') flags='${list(placesOf(commands).find(({ path }) => path === name)!.flags)}' ;;`).join('\n')}
      esac ;;
  esac
  if [[ $cur == -* ]]; then words="$flags"; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _flotilla flotilla
`
}

function zsh(commands: readonly Command[]): string {
  const array = (words: readonly Word[]): string => words.map(({ text, help }) => quoted(`${text}:${help}`)).join(' ')
  const cases = placesOf(commands).map(
    ({ path, words, flags }) => `    '${path}') words_=(${array(words)}); flags_=(${array(flags)}) ;;`,
  )
  return `#compdef flotilla
# Completion of flotilla for zsh: eval "$(flotilla completion zsh)", after compinit.
_flotilla() {
  local path_='' skip_='' count_=0 i
  local -a words_ flags_
  for ((i = 2; i < CURRENT; i++)); do
    if [[ -n $skip_ ]]; then skip_=''; continue; fi
    case "\${words[i]}" in
      ${flagsWithValue(commands).join('|')}) skip_=1 ;;
      -*) ;;
      *) ((count_++ < 2)) && path_+="\${path_:+ }\${words[i]}" ;;
    esac
  done
  if [[ -n $skip_ ]]; then _files; return; fi
  case "$path_" in
    '') words_=(${array(commands.map(toWord))}); flags_=('--help:What there is' '--version:Of this program') ;;
${cases.join('\n')}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then _describe 'option' flags_
  elif (( \${#words_} )); then _describe 'command' words_
  else _files
  fi
}
if [[ "\${funcstack[1]}" == _flotilla ]]; then _flotilla; else compdef _flotilla flotilla; fi
`
}

function fish(commands: readonly Command[]): string {
  const lines = commands.flatMap((command) => {
    const { name, subcommands = [] } = command
    const seen = `__fish_seen_subcommand_from ${name}`
    const names = subcommands.map((one) => one.name).join(' ')
    const without = subcommands.length === 0 ? seen : `${seen}; and not __fish_seen_subcommand_from ${names}`
    return placesOf([command]).flatMap(({ path, words, flags }) => {
      const [, sub] = path.split(' ')
      const where = sub === undefined ? without : `${seen}; and __fish_seen_subcommand_from ${sub}`
      return [
        ...words.map((word) => `complete -c flotilla -n ${quoted(where)} -f -a ${word.text}${described(word)}`),
        ...flags.map((word) => `complete -c flotilla -n ${quoted(where)} -l ${word.text.slice(2)}${described(word)}`),
      ]
    })
  })
  const top = commands.map(
    (command) => `complete -c flotilla -n __fish_use_subcommand -f -a ${command.name}${described(toWord(command))}`,
  )
  return `# Completion of flotilla for fish.\n${[...top, ...lines].join('\n')}\n`
}

function described({ help }: Word): string {
  return help === '' ? '' : ` -d ${quoted(help)}`
}

function list(words: readonly Word[]): string {
  return words.map(({ text }) => text).join(' ')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
