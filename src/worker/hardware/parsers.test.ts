import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findInIds, toFound, type AmdFacts } from './amd.ts'
import { parseDisplays } from './apple.ts'
import { autoLabels } from './auto-labels.ts'
import { levels, parseSelfCgroup } from './cgroup.ts'
import { toDevices } from './devices.ts'
import type { Found } from './hardware.ts'
import { parseLooseJson } from './loose-json.ts'
import { rocmOnly } from './amd-machines-suite.ts'
import { GIB, MIB, systemOf, type Machine } from './machine-suite.ts'
import { h200 } from './nvidia-machines-suite.ts'
import { arcA770, m2Max } from './other-machines-suite.ts'
import { parseMeminfo, parseVmStat, withinLimits } from './memory.ts'
import { parseNvidiaSmi } from './nvidia.ts'
import { createHardwareProbe } from './probe.ts'
import { parseRocmSmi } from './rocm-smi.ts'
import { parseDiscovery, parseMemory, parseStats } from './xpu-smi.ts'

const UUID = 'GPU-6b1d0a52-0001-0001-0001-000000000001'
const RAM = { totalBytes: 64 * GIB, availableBytes: 32 * GIB }

test('commas in a name stay in the name', () => {
  const [found] = parseNvidiaSmi(`3, ${UUID}, Graphics Device, rev. 2, 8192, 100, 8000`)
  expect(found).toMatchObject({ index: 3, uuid: UUID, name: 'Graphics Device, rev. 2', totalBytes: 8192 * MIB })
})

test('units are accepted although they are not asked for', () => {
  expect(parseNvidiaSmi(`0, ${UUID}, X, 8192 MiB, 100 MiB, 8000 MiB`)).toMatchObject([{ freeBytes: 8000 * MIB }])
})

test('without a free figure it is total less used', () => {
  expect(parseNvidiaSmi(`0, ${UUID}, X, 8192, 192, [N/A]`)).toMatchObject([{ freeBytes: 8000 * MIB, shared: null }])
})

test.each(['[N/A]', 'N/A', '[Not Supported]', 'Not Supported'])('memory of %s is the machine’s', (cell) => {
  const found = parseNvidiaSmi(`0, ${cell}, NVIDIA Thor, ${cell}, ${cell}, ${cell}`)
  const unified = { total_vram: RAM.totalBytes, available_vram: RAM.availableBytes, unified: true }
  expect(toDevices(found, RAM, 0)).toMatchObject([{ uuid: 'nvidia-0', ...unified }])
})

test.each([
  ['NVIDIA A100-SXM4-80GB', '[N/A]'],
  ['NVIDIA GeForce RTX 4090', '[N/A]'],
  ['NVIDIA L40S', '[Not Supported]'],
  ['NVIDIA H200', '[GPU is lost]'],
  ['Orin (nvgpu)', '[Unknown Error]'],
])('the memory of %s that says %s is unknown, not the machine’s', (name, cell) => {
  const found = parseNvidiaSmi(`0, ${UUID}, ${name}, ${cell}, ${cell}, ${cell}`)
  expect(toDevices(found, RAM, 0)).toMatchObject([{ total_vram: 0, available_vram: null, unified: false }])
})

test.each([
  [
    'ROCm 3',
    '{"card0": {"Card series": "Vega 20", "vram Total Memory (B)": "100", "vram Total Used Memory (B)": "40"}}',
  ],
  [
    'ROCm 5',
    '{"card0": {"Card series": "Vega 20", "VRAM Total Memory (B)": "100", "VRAM Total Used Memory (B)": "40"}}',
  ],
  [
    'ROCm 6',
    '{"card0": {"Card Series": "Vega 20", "VRAM Total Memory (B)": "100", "VRAM Total Used Memory (B)": "40"}}',
  ],
  ['numbers', '{"card0": {"Device Name": "Vega 20", "VRAM Total Memory (B)": 100, "VRAM Total Used Memory (B)": 40}}'],
])('rocm-smi spelt as %s', (_, output) => {
  const found = parseRocmSmi(output)
  expect(found).toMatchObject([{ index: 0, uuid: 'amd-0', name: 'Vega 20', totalBytes: 100, freeBytes: 60 }])
})

test('rocm-smi that knows no name or id of a card still tells its memory', () => {
  const output =
    '{"card2": {"Unique ID": "N/A", "Card Series": "N/A", "Card SKU": "RAPHAEL", "VRAM Total Memory (B)": "7"}}'
  expect(parseRocmSmi(output)).toMatchObject([{ index: 2, uuid: 'amd-2', name: 'RAPHAEL', freeBytes: null }])
})

test('libdrm’s list is searched by device and revision', () => {
  const ids = '744C,\tC8,\tAMD Radeon RX 7900 XTX\n744C,\tCC,\tAMD Radeon RX 7900 XT, OEM\n'
  expect(findInIds(ids, '0x744c', '0xcc')).toBe('AMD Radeon RX 7900 XT, OEM')
  expect(findInIds(ids, '0x744c', '0x00')).toBeNull()
  expect(findInIds('', 'what', '')).toBeNull()
})

test('an APU cannot use RAM that others have taken', () => {
  const facts: AmdFacts = {
    name: 'APU',
    uniqueId: null,
    pciAddress: null,
    vramTotal: GIB,
    vramUsed: 0,
    gttTotal: 60 * GIB,
    gttUsed: 0,
    hasMemoryLoad: false,
  }
  expect(toDevices([toFound(facts, 0)], { totalBytes: 64 * GIB, availableBytes: 5 * GIB }, 0)).toMatchObject([
    { total_vram: 61 * GIB, available_vram: 6 * GIB, unified: true },
  ])
})

test('JSON is found among warnings, as an object or as a list', () => {
  expect(parseLooseJson('[WARNING] slow\n{"a": [1]}\ndone')).toEqual({ a: [1] })
  expect(parseLooseJson('note\n[{"a": 1}]')).toEqual([{ a: 1 }])
  expect(parseLooseJson('nothing here')).toBeNull()
})

test('xpu-smi tells sizes in bytes or in MiB, and nothing without the rights', () => {
  expect(parseMemory('{"memory_physical_size": "14248.00 MiB"}')).toEqual({ totalBytes: 14248 * MIB, freeBytes: null })
  expect(parseMemory('{"memory_physical_size_byte": "N/A"}')).toBeNull()
  expect(parseMemory('{"memory_physical_size_byte": "0"}')).toBeNull()
})

test('a kernel without MemAvailable is guessed at', () => {
  const text = 'MemTotal:  1000 kB\nMemFree:  100 kB\nBuffers:  20 kB\nCached:  30 kB\n'
  expect(parseMeminfo(text)).toEqual({ totalBytes: 1000 * 1024, availableBytes: 150 * 1024 })
})

test('control groups are looked at from our own up to the root', () => {
  expect(levels('/a/b')).toEqual(['/a/b', '/a', ''])
  expect(levels('/')).toEqual([''])
  expect(levels('/../../x')).toEqual(['/x', ''])
  expect(levels('/a'.repeat(500))).toHaveLength(16)
  expect(parseSelfCgroup('0::/new\n3:cpu,memory:/old:odd\n')).toEqual({ v2: '/new', v1: '/old:odd' })
})

test('what was free a while ago is not said to be free now', () => {
  const found = parseNvidiaSmi(`0, ${UUID}, X, 8192, 192, 8000`)
  expect(toDevices(found, RAM, 15_000)).toMatchObject([{ total_vram: 8192 * MIB, available_vram: 8000 * MIB }])
  expect(toDevices(found, RAM, 15_001)).toMatchObject([{ total_vram: 8192 * MIB, available_vram: null }])
})

test('at most 64 devices, each once', () => {
  const row = (index: number): string => `${index}, GPU-${index}, X, 10, 5, 5`
  const rows = Array.from({ length: 100 }, (_, index) => row(index)).join('\n')
  expect(toDevices(parseNvidiaSmi(rows), RAM, 0)).toHaveLength(64)
  expect(toDevices(parseNvidiaSmi(`${row(1)}\n${row(1)}`), RAM, 0)).toHaveLength(1)
})

test('labels add up all devices before rounding down', () => {
  const device = { index: 0, uuid: 'a', name: 'a', total_vram: 1.5 * GIB, available_vram: 0, unified: false }
  expect(autoLabels({ gpu_vendor: 'amd', devices: [device, device] })).toEqual({
    'gpu.vendor': 'amd',
    'gpu.vram': '3GiB',
  })
  const small = { ...device, total_vram: GIB - 1 }
  expect(autoLabels({ gpu_vendor: 'amd', devices: [small] })).toEqual({ 'gpu.vendor': 'amd' })
})

/** Whatever tools print: nonsense, real output with pieces cut out or put in, and output of another tool. */
const real = [h200, rocmOnly, arcA770, m2Max].flatMap((machine) => Object.values(machine.commands ?? {}) as string[])
const cut = fc
  .tuple(fc.constantFrom(...real), fc.nat(3000), fc.nat(60), fc.string({ maxLength: 20 }))
  .map(([text, at, length, put]) => text.slice(0, at) + put + text.slice(at + length))
const printed = fc.oneof(fc.string(), fc.json(), cut, fc.constantFrom(...real))
const number = fc.oneof(fc.nat(), fc.constantFrom('[N/A]', '', '-1', '1e9', 'NaN', '99999999999999999999'))
const row = fc.tuple(number, fc.string(), fc.string(), number, number, number).map((cells) => cells.join(', '))

test('devices are sound whatever a tool prints', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        printed,
        fc.array(row, { maxLength: 80 }).map((rows) => rows.join('\n')),
      ),
      (text) => {
        const found: Found[] = [...parseNvidiaSmi(text), ...parseRocmSmi(text)]
        const devices = toDevices(found, RAM, 0)
        expect(devices.length).toBeLessThanOrEqual(64)
        for (const { index, total_vram, available_vram } of devices) {
          expect(Number.isSafeInteger(index) && Number.isSafeInteger(total_vram) && total_vram >= 0).toBe(true)
          if (available_vram === null) continue
          expect(Number.isSafeInteger(available_vram)).toBe(true)
          expect(available_vram).toBeGreaterThanOrEqual(0)
          expect(available_vram).toBeLessThanOrEqual(total_vram)
        }
      },
    ),
  )
})

test('no parser throws or answers with something that is not a number', () => {
  fc.assert(
    fc.property(printed, (text) => {
      const numbers = [parseVmStat(text), parseStats(text), parseMemory(text)?.totalBytes, parseMemory(text)?.freeBytes]
      const ram = parseMeminfo(text)
      for (const value of [...numbers, ram?.totalBytes, ram?.availableBytes])
        expect(value === null || value === undefined || (Number.isFinite(value) && value >= 0)).toBe(true)
      expect(parseDiscovery(text).length).toBeLessThanOrEqual(64)
      expect(parseDisplays(text)?.length ?? 0).toBeLessThanOrEqual(1)
      expect(levels(parseSelfCgroup(text).v2).length).toBeLessThanOrEqual(16)
    }),
  )
})

test('limits only ever tighten', () => {
  const bytes = fc.nat(2 ** 31 - 1)
  const limit = fc.record({ limitBytes: bytes, usedBytes: bytes })
  fc.assert(
    fc.property(fc.record({ totalBytes: bytes, availableBytes: bytes }), fc.array(limit), (machine, limits) => {
      const { totalBytes, availableBytes } = withinLimits(machine, limits)
      expect(totalBytes).toBeLessThanOrEqual(machine.totalBytes)
      expect(availableBytes).toBeGreaterThanOrEqual(0)
      expect(availableBytes).toBeLessThanOrEqual(Math.min(totalBytes, machine.availableBytes))
    }),
  )
})

test('a machine full of nonsense is still measured', async () => {
  const paths = [
    '/proc/meminfo',
    '/proc/self/cgroup',
    '/sys/fs/cgroup/memory.max',
    '/sys/class/drm/card0/device/mem_info_vram_total',
    '/sys/class/drm/card0/device/mem_info_vram_used',
    '/sys/class/drm/card0/device/mem_info_gtt_total',
  ]
  const files = fc.tuple(...paths.map(() => fc.oneof(fc.string(), fc.nat().map(String))))
  const vendor = fc.constantFrom('0x1002', '0x8086', '0x10de')
  await fc.assert(
    fc.asyncProperty(
      files,
      vendor,
      printed,
      fc.constantFrom('linux', 'darwin'),
      async (texts, vendor, text, platform) => {
        const machine: Machine = {
          platform,
          files: {
            ...Object.fromEntries(paths.map((path, index) => [path, texts[index]!])),
            '/sys/class/drm/card0/device/vendor': vendor,
          },
        }
        const system = systemOf(machine)
        system.run = async () => ({ kind: 'exited', code: 0, stdout: text, stderr: '' })
        const hardware = await createHardwareProbe({ folder: '/models', system }).measure()
        for (const value of [hardware.total_ram, hardware.available_ram, hardware.total_disk, hardware.available_disk])
          expect(Number.isFinite(value) && value >= 0).toBe(true)
        for (const { total_vram, available_vram } of hardware.devices)
          expect((available_vram ?? 0) <= total_vram && (available_vram ?? 0) >= 0).toBe(true)
      },
    ),
  )
})
