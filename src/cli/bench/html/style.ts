/** Light and dark by what the reader prefers. The colours of lines are told apart by people who see few colours, too. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --bg: #f3f6f9; --surface: #fff; --ink: #13202c; --muted: #526272; --line: #d9e1e8; --bar: #e3e9ef;
  --warn: #855300; --warn-soft: #fdf0d5; --bad: #b3261e; --ok: #137045;
  --c1: #0a5fb4; --c2: #c2410c; --c3: #137045; --c4: #7c3aed; --c5: #b3261e; --c6: #6b7280;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #0c1318; --surface: #131c23; --ink: #e7eef4; --muted: #9aabba; --line: #25333e; --bar: #24323d;
    --warn: #f2bd5c; --warn-soft: #3a2b0c; --bad: #ff8a80; --ok: #56d197;
    --c1: #6cb6ff; --c2: #f59e5b; --c3: #56d197; --c4: #b79bff; --c5: #ff8a80; --c6: #9aabba;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; padding: 28px 20px 48px; background: var(--bg); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif;
}
main { max-width: 1180px; margin: 0 auto; display: grid; gap: 18px; }
h1 { font-size: 24px; margin: 0; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 15px; margin: 0 0 2px; }
p { margin: 0; }
.sub, .hint { color: var(--muted); }
.hint { font-size: 13px; margin-bottom: 10px; }
.parts { margin: 6px 0 0; padding: 0; list-style: none; color: var(--muted); overflow-wrap: anywhere; }
.cards { display: grid; gap: 12px; grid-template-columns: repeat(auto-fit, minmax(165px, 1fr)); }
.card, section { background: var(--surface); border: 1px solid var(--line); border-radius: 10px; }
.card { padding: 14px 16px; }
.card b { display: block; font-size: 25px; font-weight: 650; letter-spacing: -0.02em; line-height: 1.25; }
.card small { color: var(--muted); font-size: 13px; }
.card.bad b { color: var(--bad); }
.warnings { list-style: none; margin: 0; padding: 0; display: grid; gap: 8px; }
.warnings li { padding: 9px 14px; border-radius: 8px; background: var(--warn-soft); color: var(--warn); font-size: 14px; }
.plots { display: grid; gap: 18px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); align-items: start; }
section { padding: 16px 18px; min-width: 0; }
.plot { display: block; width: 100%; height: auto; font-size: 12px; }
.grid { stroke: var(--line); }
.mark { stroke: var(--muted); }
.tick { fill: var(--muted); font-variant-numeric: tabular-nums; }
.label { fill: var(--muted); }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.dashed { stroke-dasharray: 5 5; }
.line.c1 { stroke: var(--c1); } .line.c2 { stroke: var(--c2); } .line.c3 { stroke: var(--c3); }
.line.c4 { stroke: var(--c4); } .line.c5 { stroke: var(--c5); } .line.c6 { stroke: var(--c6); }
.dot.c1 { fill: var(--c1); } .dot.c2 { fill: var(--c2); } .dot.c3 { fill: var(--c3); }
.dot.c4 { fill: var(--c4); } .dot.c5 { fill: var(--c5); } .dot.c6 { fill: var(--c6); }
.legend { list-style: none; margin: 8px 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 13px; color: var(--muted); }
.key { width: 24px; height: 8px; margin-right: 7px; vertical-align: middle; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { padding: 6px 12px 6px 0; text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; border-top: 1px solid var(--line); }
thead th { color: var(--muted); font-weight: 500; border-top: 0; font-size: 13px; }
th:first-child, td.text { text-align: left; }
td.text { white-space: normal; overflow-wrap: anywhere; min-width: 12em; }
tbody th { font-weight: 600; }
td.bad { color: var(--bad); font-weight: 600; }
.bars { display: grid; grid-template-columns: minmax(0, auto) 1fr auto; gap: 7px 12px; align-items: center; font-size: 14px; margin-top: 8px; }
.bars .name { overflow-wrap: anywhere; }
.bars .track { background: var(--bar); border-radius: 4px; height: 14px; }
.bars .fill { background: var(--c1); border-radius: 4px; height: 14px; min-width: 2px; }
.bars .figure { text-align: right; font-variant-numeric: tabular-nums; }
h3 { font-size: 14px; margin: 12px 0 0; }
footer { color: var(--muted); font-size: 13px; }
@media (max-width: 620px) {
  body { padding: 16px 12px 32px; }
  section { padding: 12px; }
  .plot { font-size: 18px; }
  .cards { grid-template-columns: 1fr 1fr; }
  .card { padding: 11px 13px; }
  .card b { font-size: 21px; }
}
@media print { body { background: none; padding: 0; } section, .card { break-inside: avoid; } }
`
