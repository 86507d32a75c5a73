import type { BenchReport } from '../report.ts'
export function renderPage(report: BenchReport): string {
  return JSON.stringify(report)
}
