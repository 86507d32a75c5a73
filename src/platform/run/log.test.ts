import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** Logs in a process of its own, because a logger writes to that process's stderr. */
function logged(format: 'json' | 'pretty', call: string): string {
  const module = JSON.stringify(new URL('./log.ts', import.meta.url).href)
  const script = `const { createLogger } = await import(${module})
    const log = await createLogger({ level: 'info', format: '${format}' }); ${call}`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  expect(stdout).toBe('')
  return stderr
}

test('a log line is JSON on stderr, with its fields', () => {
  expect(JSON.parse(logged('json', `log.info({ node: 'thor' }, 'node joined')`))).toMatchObject({
    level: 30,
    node: 'thor',
    msg: 'node joined',
  })
})

test('for people it is one line', () => {
  expect(logged('pretty', `log.warn({ node: 'thor' }, 'node is silent')`)).toMatch(
    /^\[[\d:]+\] WARN: node is silent \{"node":"thor"\}\n$/,
  )
})

test.each(['json', 'pretty'] as const)(
  'log injection: nothing that is logged begins a line of its own, in %s',
  (format) => {
    const forged = String.raw`\n[00:00:00] INFO: forged\r\x1b[2J`
    const fields = `{ name: 'n${forged}', model: 'm${forged}', err: new Error('e${forged}') }`
    const text = logged(format, `log.warn(${fields}, 'said ${forged}')`)
    expect(text).toContain('forged')
    expect(text).not.toMatch(/^\[00:00:00\] INFO: forged/m)
    // Neither does it move the cursor of whoever reads it.
    for (const control of ['\u001b', '\r']) expect(text).not.toContain(control)
  },
)

test('what is below the level is not written', () => {
  expect(logged('json', `log.debug('quiet')`)).toBe('')
})

test('fields that hold secrets are not written, also one level down', () => {
  const text = logged('json', `log.info({ token: 'hunter2', headers: { authorization: 'Bearer hunter2' } }, 'x')`)
  expect(text).not.toContain('hunter2')
  expect(text).toContain('[secret]')
})
