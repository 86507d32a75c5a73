import { simulate } from '/work/sim/sim/simulate.ts'
const [seed=1,nodes=6,models=4,hours=0.5] = process.argv.slice(2).map(Number)
const lines: string[] = []
const t=process.cpuUsage(); const w = performance.now()
const o = await simulate({seed,nodes,models,hours, onLine: process.env['LINES'] ? (l)=>console.log(l.slice(0,260)) : undefined})
const c=process.cpuUsage(t)
console.log({...o, violation: o.violation && {...o.violation, lastLines: undefined}}, 'cpu s', (c.user+c.system)/1e6)
if (o.violation) console.log(o.violation.lastLines.map((l)=>l.slice(0,240)).join('\n'))
if ((globalThis as any).STATS) for (const [k,[n,us]] of [...(globalThis as any).STATS].sort((a: any,b: any)=>b[1][1]-a[1][1]).slice(0,30)) console.log(n, Math.round(us/1000)+' ms', (us/n).toFixed(1)+' us', k)
