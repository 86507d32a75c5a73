import type { FuzzRun } from './fuzz-target.ts'
import type { HostileRun } from './hostile/hostile-node.ts'
import type { FuzzTarget } from './target.ts'

export interface PageFacts {
  targets: readonly FuzzTarget[]
  runs: readonly FuzzRun[]
  seed: number
  day: string
  regressions: (target: string) => number
  hostile: HostileRun
}

/** The page with what a whole run came to. */
export function fuzzPage({ targets, runs, seed, day, regressions, hostile }: PageFacts): string {
  const total = runs.reduce((sum, { cases }) => sum + cases, 0)
  const rows = targets.map(({ name, reads }) => {
    const { cases, ms, finding } = runs.find((run) => run.name === name)!
    const found = finding ? 'one' : 'none'
    return `| \`${name}\` | ${reads} | ${thousands(cases)} | ${(ms / 1000).toFixed(1)} | ${found} | ${regressions(name)} |`
  })
  return `# Fuzzing

\`npm run fuzz\` has written this page. It gives every parser of bytes from outside what it may get from a stranger: things that were
right and were then cut, doubled, flipped and mixed with words of their grammar, and random bytes. None may throw anything but a
refusal (\`AppError\`, or the parser's own), none may break what it promises (each target in [fuzz/targets](../../fuzz/targets) says what),
change a prototype, take more than 300 s for 10,000 cases, or more than 512 MiB of heap.

The last whole run, on ${day}, tried ${thousands(total)} cases with seed ${seed}. The seconds are of a machine with other work to do.
"Kept" are cases that failed once, have been mended, and are tried again by \`npm test\` with a few hundred others of each target.

| target | reads | cases | seconds | findings | kept |
|---|---|---:|---:|---:|---:|
${rows.join('\n')}

## A hostile node

One approved node then speaks to a real frontend over the bus: spoiled, oversized and lying heartbeats, any message on any subject, its own
and those of others, with any subject for the answer, and junk in answer to commands. Another node heartbeats every 250 ms meanwhile. No
process may end, the other node may never be unheard for 5 s, and the log may not grow by a megabyte.

| messages | seconds | other node: longest unheard | admin API: slowest answer | log | findings |
|---:|---:|---:|---:|---:|---|
| ${thousands(hostile.messages)} | ${(hostile.ms / 1000).toFixed(1)} | ${thousands(hostile.oldestHeartbeatMs)} ms | ${thousands(hostile.slowestAnswerMs)} ms | ${thousands(hostile.logBytes)} B | ${hostile.finding ?? 'none'} |
`
}

function thousands(count: number): string {
  return count.toLocaleString('en-US')
}
