import { DEFAULT_SEEDS, defaultArguments } from './arguments.ts'

/** In 80 columns. */
export function helpText(): string {
  const { nodes, models, hours, shrinkS, lines } = defaultArguments
  return `Usage: npm run sim -- [options]

Runs whole clusters in virtual time on the real program, breaks them in every
way it can, and checks all the time that the promises of the design hold. One
seed decides everything: the same seed and options give the same history.
docs/reference/simulator.md says what is real and what is checked.

How much
  --seed <n>           the first seed (1; with --soak any that is new)
  --seeds <n>          how many, one after the other (${DEFAULT_SEEDS})
  --soak <time>        new seeds until the time is over: 30m, 8h, forever
  --nodes <n>          machines of the cluster (${nodes})
  --models <n>         models (${models})
  --hours <n>          virtual hours with faults; a quiet time follows (${hours})
  --jobs <n>           seeds side by side (one for each core)
  --keep-going         do not end at the first violation

What goes wrong
  --faults <a,b>       only these kinds of faults; "list" shows them
  --until <n>          end the faults after so many of the hours, as in a
                       shrunk run
  --only-faults <n,n>  only the faults with these numbers, as in a shrunk run
  --bug <name>         build a mistake in, to see it caught; "list" shows them
  --planted            build in each of them and say how soon it is caught

When a check is violated
  --shrink-s <n>       look for a shorter run that fails so long (${shrinkS})
  --no-shrink          do not look for one
  --lines <n>          of the transcript (${lines})
  --json               the report as JSON
  --help               this text

Ends with 0 when all checks held, 1 when one was violated, 2 when the options
make no sense. Ctrl-C ends it with the report so far.
`
}

/** Names, each with what it is. */
export function listText(title: string, choices: Record<string, string>): string {
  const width = Math.max(...Object.keys(choices).map((name) => name.length)) + 2
  const rows = Object.entries(choices).flatMap(([name, help]) => {
    const [first, ...rest] = wrapWords(help, 78 - width)
    return [`  ${name.padEnd(width)}${first}`, ...rest.map((line) => `  ${''.padEnd(width)}${line}`)]
  })
  return [title, '', ...rows, ''].join('\n')
}

/** Lines of at most so many columns; a longer word has a line of its own. */
export function wrapWords(text: string, columns: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
