import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { createHardwareProbe } from './probe.ts'
import { realSystem } from './real-system.ts'

const limits = { timeoutMs: 10_000, maxBytes: 1000 }
const node = (code: string, change: Partial<typeof limits> = {}) =>
  realSystem.run(process.execPath, ['-e', code], { ...limits, ...change })

test('a program’s code and both of its outputs come back', async () => {
  const ran = await node('process.stdout.write("out"); process.stderr.write("err"); process.exitCode = 9')
  expect(ran).toEqual({ kind: 'exited', code: 9, stdout: 'out', stderr: 'err' })
})

test('a program that is not there is missing', async () => {
  expect(await realSystem.run('no-such-program-here', [], limits)).toEqual({ kind: 'missing' })
})

test('a program that hangs is killed, though it ignores signals', async () => {
  const ran = await node('process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)', { timeoutMs: 300 })
  expect(ran).toMatchObject({ kind: 'failed', why: expect.stringContaining('longer than 300 ms') as string })
})

test('a program that prints without end is stopped', async () => {
  const ran = await node('setInterval(() => process.stdout.write("x".repeat(1000)), 0)')
  expect(ran).toMatchObject({ kind: 'failed', why: expect.stringContaining('maxBuffer') as string })
})

test('files are read up to the limit, and what cannot be read is null', async () => {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'hardware-'))
  try {
    await fs.writeFile(path.join(folder, 'a'), 'x'.repeat(100))
    expect(await realSystem.readFile(path.join(folder, 'a'), 10)).toBe('x'.repeat(10))
    expect(await realSystem.readFile(path.join(folder, 'b'), 10)).toBeNull()
    expect(await realSystem.readFile(folder, 10)).toBeNull()
    expect(await realSystem.list(folder)).toEqual(['a'])
    expect(await realSystem.list(path.join(folder, 'b'))).toBeNull()
    expect(await realSystem.statfs(path.join(folder, 'b'))).toBeNull()
    expect(await realSystem.statfs(path.join(folder, 'a', 'b'))).toBeNull()
  } finally {
    await fs.rm(folder, { recursive: true })
  }
})

test('this machine has RAM and a disk, whatever else it has', async () => {
  const folder = path.join(os.tmpdir(), 'not', 'made', 'yet')
  const hardware = await createHardwareProbe({ folder }).measure()
  for (const [total, available] of [
    [hardware.total_ram, hardware.available_ram],
    [hardware.total_disk, hardware.available_disk],
  ] as const) {
    expect(total).toBeGreaterThan(0)
    expect(available).toBeLessThanOrEqual(total)
  }
  expect(hardware.gpu_vendor === null).toBe(hardware.devices.length === 0)
})
