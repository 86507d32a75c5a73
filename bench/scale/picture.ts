import { escape } from '../../src/cli/bench/html/escape.ts'
import { HEIGHT, linePlot, WIDTH, type LinePlot } from '../../src/cli/bench/html/line-plot.ts'

const COLOURS = {
  light: ['#0a5fb4', '#c2410c', '#137045', '#7c3aed', '#b3261e', '#6b7280'],
  dark: ['#6cb6ff', '#f59e5b', '#56d197', '#b79bff', '#ff8a80', '#9aabba'],
}
const ROW = 22

/** A plot as a file of its own, for pages that show it as an image: with its style, its title and names of its lines. */
export function picture(plot: LinePlot): string {
  const inner = linePlot(plot)
    .replace(/^<svg [^>]*>/, '')
    .replace(/<\/svg>$/, '')
  const top = 30
  const height = top + HEIGHT + ROW * Math.ceil(plot.series.length / 2) + 6
  const names = plot.series.map(({ name, colour, isDashed }, i) => {
    const [x, y] = [74 + (i % 2) * 280, top + HEIGHT + 12 + ROW * Math.floor(i / 2)]
    const line = `<path class="line c${colour}${isDashed ? ' dashed' : ''}" d="M${x} ${y}h24"/>`
    return `${line}<text class="tick" x="${x + 32}" y="${y}" dy="0.35em">${escape(name)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escape(plot.title)}">
<style>${style()}</style>
<rect class="ground" width="100%" height="100%" rx="8"/>
<text class="title" x="16" y="22">${escape(plot.title)}</text>
<g transform="translate(0 ${top})">${inner}</g>
${names.join('\n')}
</svg>
`
}

function style(): string {
  const of = (theme: 'light' | 'dark', ground: string, ink: string, muted: string, line: string): string =>
    `.ground{fill:${ground}}.title{fill:${ink}}.tick,.label{fill:${muted}}.grid{stroke:${line}}.mark{stroke:${muted}}` +
    COLOURS[theme].map((colour, i) => `.line.c${i + 1}{stroke:${colour}}.dot.c${i + 1}{fill:${colour}}`).join('')
  return (
    `text{font:12px system-ui,sans-serif}.title{font-size:15px;font-weight:600}` +
    `.line{fill:none;stroke-width:2;stroke-linejoin:round}.dashed{stroke-dasharray:5 5}` +
    of('light', '#fff', '#13202c', '#526272', '#d9e1e8') +
    `@media(prefers-color-scheme:dark){${of('dark', '#131c23', '#e7eef4', '#9aabba', '#25333e')}}`
  )
}
