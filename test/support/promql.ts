import { parser } from '@prometheus-io/lezer-promql'
import type { SyntaxNode } from '@lezer/common'

/** What an expression asks for: a metric, and the labels by which it picks, groups or joins. */
export interface Asked {
  metric: string
  labels: string[]
}

/** Reads a PromQL expression with Prometheus's own grammar; throws where it is none. */
export function readPromql(expression: string): Asked[] {
  const text = expression.replaceAll('$__rate_interval', '5m')
  const tree = parser.parse(text)
  const found: { metric: string; node: SyntaxNode; labels: string[] }[] = []
  const groupings: { node: SyntaxNode; labels: string[] }[] = []
  const of = (node: SyntaxNode): string => text.slice(node.from, node.to)
  tree.iterate({
    enter({ node, type }) {
      if (type.isError) throw new Error(`Not PromQL at ${node.from}: ${text}`)
      if (type.name === 'VectorSelector') {
        const name = node.getChild('Identifier')
        if (!name) throw new Error(`A selector without a metric: ${of(node)}`)
        found.push({ metric: of(name), node, labels: labelNames(node, of) })
      }
      if (type.name === 'GroupingLabels') groupings.push({ node: node.parent!.parent!, labels: labelNames(node, of) })
    },
  })
  if (found.length === 0) throw new Error(`Asks for nothing: ${text}`)
  // What an aggregation or a join names must be on what it is made of.
  for (const { node, labels } of groupings) {
    for (const one of found) if (one.node.from >= node.from && one.node.to <= node.to) one.labels.push(...labels)
  }
  return found.map(({ metric, labels }) => ({ metric, labels: [...new Set(labels)] }))
}

function labelNames(node: SyntaxNode, of: (node: SyntaxNode) => string): string[] {
  const names: string[] = []
  const cursor = node.cursor()
  do {
    if (cursor.name === 'LabelName' && cursor.from >= node.from && cursor.to <= node.to) names.push(of(cursor.node))
  } while (cursor.next() && cursor.from < node.to)
  return names
}
