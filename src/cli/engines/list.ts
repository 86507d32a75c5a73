import type { BackendView, NodeView } from '../../api/admin/schemas.ts'
import type { View } from '../client.ts'
import { painter } from '../terminal/style.ts'
import { table } from '../terminal/table.ts'
import { pad, plain, widthOf } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'
import { engineText, stateLooks } from './engine-text.ts'

interface Row {
  engine: BackendView
  text: string
  nodes: string[]
}

/** Narrower than this no text can be read beside the names. */
const LEAST_TEXT = 24
/** Names of nodes that share a line may take so many columns. */
const MOST_NODES = 12

/** Engine × node, with nodes where it is the same on one line; how an engine is stands beside it, as long as it takes. */
export function renderEngines(all: readonly { node: NodeView; reply: BackendView[] }[], view: View): string[] {
  const rows = rowsOf(all)
  if (rows.length === 0) return ['There is no node that runs engines.']
  const names = rows.map(({ engine, nodes }) => [plain(engine.name), nodesText(nodes, all.length)])
  const columns = [
    { title: 'ENGINE', shrink: { to: 12, turn: 1 } },
    { title: 'NODE', shrink: { to: 8, turn: 2 } },
  ]
  const [title, ...left] = table(columns, names, { width: view.width - LEAST_TEXT, paint: painter(false) })
  const leftWidth = Math.max(...[title!, ...left].map(widthOf)) + 2
  return [
    view.paint('dim', `${pad(title!, leftWidth)}STATE`),
    ...rows.flatMap(({ engine, text }, i) => {
      const [first, ...more] = wrap(text, view.width - leftWidth, { breakWords: true })
      const painted = view.paint(stateLooks[engine.state], engine.state) + first!.slice(engine.state.length)
      return [pad(left[i]!, leftWidth) + painted, ...more.map((line) => ' '.repeat(leftWidth) + line)]
    }),
  ]
}

function rowsOf(all: readonly { node: NodeView; reply: BackendView[] }[]): Row[] {
  const rows = new Map<string, Row>()
  for (const { node, reply } of all) {
    for (const engine of reply) {
      const text = plain(engineText(engine))
      const key = JSON.stringify([engine.name, text])
      const row = rows.get(key) ?? { engine, text, nodes: [] }
      row.nodes.push(plain(node.name))
      rows.set(key, row)
    }
  }
  return [...rows.values()].toSorted((a, b) => (a.engine.name < b.engine.name ? -1 : 1))
}

function nodesText(names: readonly string[], all: number): string {
  if (names.length === all && all > 1) return `all ${all}`
  let text = names[0]!
  for (const [i, name] of names.entries()) {
    if (i === 0) continue
    if (widthOf(`${text}, ${name}`) > MOST_NODES) return `${text} +${names.length - i}`
    text += `, ${name}`
  }
  return text
}
