import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'

const dashboard = z.object({
  panels: z.array(
    z.object({
      id: z.int(),
      type: z.enum(['row', 'stat', 'timeseries']),
      title: z.string().min(1),
      gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
      targets: z.array(z.object({ expr: z.string().min(1), legendFormat: z.string() })).optional(),
    }),
  ),
})

const alerts = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      rules: z.array(
        z.strictObject({
          alert: z.string().regex(/^Flotilla[A-Z][A-Za-z]+$/),
          expr: z.string().min(1),
          for: z
            .string()
            .regex(/^\d+[smh]$/)
            .optional(),
          labels: z.strictObject({ severity: z.enum(['warning', 'critical']) }),
          annotations: z.strictObject({ summary: z.string().min(1), description: z.string().optional() }),
        }),
      ),
    }),
  ),
})

const folder = new URL('../../ops/', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, folder), 'utf8')

export function readDashboard(): z.infer<typeof dashboard> {
  return dashboard.parse(JSON.parse(read('grafana/flotilla.json')))
}

export function readAlerts() {
  return alerts.parse(parse(read('prometheus/alerts.yaml'))).groups.flatMap(({ rules }) => rules)
}

/** Every expression of both, with the templates of its legend or its texts, which name labels, too. */
export function opsExpressions(): { where: string; expression: string; templates: string }[] {
  const panels = readDashboard().panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({
      where: `panel ${title}`,
      expression: expr.replaceAll('$model', '.*'),
      templates: legendFormat,
    })),
  )
  const rules = readAlerts().map(({ alert, expr, annotations }) => ({
    where: alert,
    expression: expr,
    templates: Object.values(annotations).join(' '),
  }))
  return [...panels, ...rules]
}
