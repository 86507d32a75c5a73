import { commandLine } from '../arguments.ts'
import type { Reported } from './report.ts'
import { transcript } from './transcript.ts'

/** The same for programs. */
export function reportJson({ asked, tally, commit, wallMs, jobs, isCutShort, explained }: Reported): string {
  const { nodes, models, hours, faults, bug } = asked
  const shortest = explained && {
    nodes: explained.scenario.nodes,
    models: explained.scenario.models,
    hours: explained.scenario.hours,
    until_hours: explained.scenario.untilHours ?? null,
    faults: explained.faults,
    message: explained.outcome.violation!.message,
    transcript: transcript(explained.lines, explained.outcome.violation!, asked.lines),
  }
  const document = {
    commit,
    scale: { nodes, models, hours, faults: faults ?? 'all', bug: bug ?? null },
    seeds: tally.seeds,
    first_seed: tally.seeds > 0 ? tally.range()[0] : null,
    last_seed: tally.seeds > 0 ? tally.range()[1] : null,
    called_off: isCutShort,
    history: tally.history(),
    virtual_ms: tally.virtualMs,
    events: tally.events,
    faults_injected: tally.faults,
    counts: tally.counts,
    wall_ms: Math.round(wallMs),
    cpu_ms: Math.round(tally.cpuMs),
    longest_cpu_ms: Math.round(tally.longestCpuMs),
    jobs,
    failed: tally.failed,
    failures: tally.failures.map(({ seed, violation }) => ({
      seed,
      check: violation!.check,
      message: violation!.message,
      event: violation!.event,
      at_ms: violation!.atMs,
      command: commandLine(asked, seed),
    })),
    ...(shortest ? { shortest } : {}),
  }
  return `${JSON.stringify(document, undefined, 2)}\n`
}
