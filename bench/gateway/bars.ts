import { escape } from '../../src/cli/bench/html/escape.ts'

export interface Bar {
  name: string
  value: number
  text: string
  isOurs: boolean
}

const [WIDTH, TOP, ROW, LEFT, RIGHT] = [680, 44, 26, 190, 150]

/** Bars as a picture of its own, for light and dark pages. */
export function barPicture(title: string, bars: readonly Bar[]): string {
  const most = Math.max(...bars.map(({ value }) => value))
  const rows = bars.map(({ name, value, text, isOurs }, i) => {
    const y = TOP + i * ROW
    const width = Math.max(1, ((WIDTH - LEFT - RIGHT) * value) / most)
    return `<text class="name" x="${LEFT - 10}" y="${y + 9}" dy="0.35em" text-anchor="end">${escape(name)}</text>
<rect class="${isOurs ? 'ours' : 'other'}" x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="18" rx="2"/>
<text class="value" x="${(LEFT + width + 8).toFixed(1)}" y="${y + 9}" dy="0.35em">${escape(text)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${TOP + bars.length * ROW + 10}" role="img" aria-label="${escape(title)}">
<style>${style()}</style>
<rect class="ground" width="100%" height="100%" rx="8"/>
<text class="title" x="16" y="24">${escape(title)}</text>
${rows.join('\n')}
</svg>
`
}

function style(): string {
  const of = (ground: string, ink: string, muted: string, ours: string, other: string): string =>
    `.ground{fill:${ground}}.title,.name{fill:${ink}}.value{fill:${muted}}.ours{fill:${ours}}.other{fill:${other}}`
  return (
    'text{font:12px system-ui,sans-serif}.title{font-size:15px;font-weight:600}' +
    of('#fff', '#13202c', '#526272', '#0a5fb4', '#b8c4cf') +
    `@media(prefers-color-scheme:dark){${of('#131c23', '#e7eef4', '#9aabba', '#6cb6ff', '#43525f')}}`
  )
}
