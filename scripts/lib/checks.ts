import type { Step } from './step.ts'

const types: Step = { name: 'types', command: 'tsc', args: ['-p', '.'] }
const dashboardTypes: Step = { name: 'types of the dashboard', command: 'tsc', args: ['-p', 'ui'] }

/** What must hold besides the tests; they do not touch files and may run at the same time. */
export const checks: readonly Step[] = [
  types,
  dashboardTypes,
  { name: 'lint', command: 'oxlint', args: ['--deny-warnings'] },
  { name: 'format', command: 'oxfmt', args: ['--check'] },
]

/** The same, putting right what they can; they change files, so one after another. */
export const fixes: readonly Step[] = [
  { name: 'lint, fixed where possible', command: 'oxlint', args: ['--deny-warnings', '--fix'] },
  { name: 'formatted', command: 'oxfmt', args: [] },
  types,
  dashboardTypes,
]
