import { expect, test, vi } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import type { Hardware } from './hardware.ts'
import { rocmOnly, rx7900xtx } from './amd-machines-suite.ts'
import { GIB, NVIDIA_QUERY, systemOf, type Machine } from './machine-suite.ts'
import { driverMismatch, h200 } from './nvidia-machines-suite.ts'
import { arcA770, intelLaptop, m2Max } from './other-machines-suite.ts'
import { createHardwareProbe } from './probe.ts'
import type { Ran, System } from './system.ts'

function start(machine: Machine, change: Partial<System> = {}) {
  const clock = new VirtualClock(1_000_000)
  const system = Object.assign(systemOf(machine), change)
  const log = { info: vi.fn(), warn: vi.fn() }
  const probe = createHardwareProbe({ folder: '/var/lib/models', system, clock, log })
  return { clock, system, log, probe }
}

/** The measurement, once time has moved on by so much. */
async function measured(probe: { measure(): Promise<Hardware> }, clock: VirtualClock, byMs: number): Promise<Hardware> {
  const measurement = probe.measure()
  await clock.advance(byMs)
  return measurement
}

const failing: Ran = { kind: 'exited', code: 255, stdout: 'Failed to initialize NVML: Unknown Error\n', stderr: '' }

test('callers share one measurement', async () => {
  const { probe, system } = start(h200)
  const [first, second] = await Promise.all([probe.measure(), probe.measure()])
  expect(first).toBe(second)
  expect(system.ran).toEqual([NVIDIA_QUERY])
})

test('free memory is measured every time', async () => {
  let freeMib = 24000
  const { probe } = start(h200, {
    run: async () => ({ kind: 'exited', code: 0, stdout: `0, GPU-1, X, 24576, 1, ${freeMib}`, stderr: '' }),
  })
  const before = await probe.measure()
  freeMib = 100
  const after = await probe.measure()
  expect([before, after].map(({ devices }) => devices[0]!.available_vram)).toEqual([24000 * 1024 ** 2, 100 * 1024 ** 2])
})

test('a tool that is not there is looked for once a minute', async () => {
  const { probe, system, clock, log } = start({ files: {} })
  await probe.measure()
  const once = system.ran.length
  expect(system.ran).toContain(NVIDIA_QUERY)
  await clock.advance(59_000)
  await probe.measure()
  expect(system.ran).toHaveLength(once)
  await clock.advance(2000)
  await probe.measure()
  expect(system.ran).toHaveLength(2 * once)
  expect(log.warn).not.toHaveBeenCalled()
})

test('no vendor’s tool is started where the kernel lists no card of that vendor', async () => {
  const { probe, system } = start(intelLaptop)
  await probe.measure()
  expect(system.ran.filter((line) => !line.includes('nvidia'))).toEqual([])
})

test('an NVIDIA card is not joined by cards of others', async () => {
  const machine = { commands: { ...h200.commands, ...rocmOnly.commands }, files: { ...h200.files, ...rx7900xtx.files } }
  const { gpu_vendor, devices } = await start(machine).probe.measure()
  expect({ gpu_vendor, names: devices.map(({ name }) => name) }).toEqual({
    gpu_vendor: 'nvidia',
    names: ['NVIDIA H200'],
  })
})

test('a driver that never worked is no warning', async () => {
  const { probe, log } = start(driverMismatch)
  expect(await probe.measure()).toMatchObject({ gpu_vendor: null, devices: [] })
  expect(log.warn).not.toHaveBeenCalled()
})

test('a failure keeps the devices for five minutes, but not for long what was free', async () => {
  const { probe, system, clock, log } = start(h200)
  const good = await probe.measure()
  system.run = async () => failing
  await clock.advance(5000)
  expect(await probe.measure()).toEqual(good)
  await clock.advance(15_000)
  expect((await probe.measure()).devices).toEqual([{ ...good.devices[0], available_vram: null }])
  expect(log.warn).toHaveBeenCalledExactlyOnceWith(
    { source: 'nvidia', why: 'nvidia-smi ended with code 255: Failed to initialize NVML: Unknown Error' },
    expect.any(String),
  )
  await clock.advance(281_000)
  expect(await probe.measure()).toMatchObject({ gpu_vendor: null, devices: [] })
  expect(log.warn).toHaveBeenCalledTimes(2)
  system.run = (...args) => systemOf(h200).run(...args)
  expect(await probe.measure()).toEqual({ ...good, begunMs: clock.nowMs() })
  expect(log.info).toHaveBeenCalledOnce()
})

test('a tool that hangs holds up a measurement for two seconds once, and no second one is started', async () => {
  const { probe, system, clock, log } = start(h200)
  const good = await probe.measure()
  const run = vi.fn<System['run']>(() => new Promise(() => {}))
  system.run = run
  const late = probe.measure()
  const isDone = vi.fn()
  void late.then(isDone)
  await clock.advance(1999)
  expect(isDone).not.toHaveBeenCalled()
  await clock.advance(1)
  expect(await late).toEqual(good)
  for (let i = 0; i < 20; i += 1) {
    await clock.advance(5000)
    expect((await probe.measure()).devices).toHaveLength(1)
  }
  expect(run).toHaveBeenCalledOnce()
  expect(log.warn).toHaveBeenCalledOnce()
  await clock.advance(5 * 60_000)
  // Now the other vendors' tools are asked, which hang too: two seconds each.
  expect((await measured(probe, clock, 4000)).devices).toEqual([])
})

test('a slow driver is waited for at the start, and its answers count when they come', async () => {
  const { probe, system, clock, log } = start(h200)
  const answer = await system.run(...asked)
  system.run = () => new Promise((resolve) => void clock.after(4000, () => resolve(answer)))
  const first = await measured(probe, clock, 4000)
  expect(first.devices).toHaveLength(1)
  for (let i = 0; i < 10; i += 1) expect((await measured(probe, clock, 5000)).devices).toEqual(first.devices)
  expect(log.warn).not.toHaveBeenCalled()
})

test('a tool that hangs from the start is given up on', async () => {
  const { probe, clock } = start(h200, { run: () => new Promise(() => {}) })
  expect(await measured(probe, clock, 40_000)).toMatchObject({ devices: [], total_ram: 131980916 * 1024 })
  expect((await probe.measure()).devices).toEqual([])
})

test('a disk that does not answer is left out, one that fails is remembered', async () => {
  const { probe, system, clock } = start(h200)
  await probe.measure()
  system.statfs = async () => Promise.reject(new Error('stale file handle'))
  expect(await probe.measure()).toMatchObject({ total_disk: 500 * GIB })
  await clock.advance(301_000)
  expect(await probe.measure()).toMatchObject({ total_disk: 0, available_disk: 0 })
})

test('a system that fails at everything is still measured', async () => {
  const fail = async (): Promise<never> => Promise.reject(new Error('no'))
  const { probe } = start({}, { run: fail, readFile: fail, list: fail, statfs: fail })
  expect(await probe.measure()).toMatchObject({ gpu_vendor: null, devices: [], total_ram: 0, total_disk: 0 })
})

test('what hardly changes is asked for rarely', async () => {
  const mac = start(m2Max)
  for (let i = 0; i < 3; i += 1) await mac.probe.measure()
  expect(mac.system.ran.filter((line) => line.startsWith('system_profiler'))).toHaveLength(1)
  const arc = start(arcA770)
  for (let i = 0; i < 3; i += 1) await arc.probe.measure()
  expect(arc.system.ran.filter((line) => line === 'xpu-smi discovery -j')).toHaveLength(1)
  expect(arc.system.ran.filter((line) => line === 'xpu-smi discovery -d 0 -j')).toHaveLength(3)
})

const asked: Parameters<System['run']> = [
  'nvidia-smi',
  NVIDIA_QUERY.split(' ').slice(1),
  { timeoutMs: 1000, maxBytes: 1000 },
]
