import { expect, test } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { autoLabels } from './auto-labels.ts'
import type { Hardware } from './hardware.ts'
import * as amd from './amd-machines-suite.ts'
import { GIB, MIB, systemOf, type Machine } from './machine-suite.ts'
import * as nvidia from './nvidia-machines-suite.ts'
import * as other from './other-machines-suite.ts'
import { createHardwareProbe } from './probe.ts'

const machines = { ...nvidia, ...amd, ...other }
const KIB = 1024

function measure(machine: Machine): Promise<Hardware> {
  return createHardwareProbe({
    folder: '/var/lib/models',
    system: systemOf(machine),
    clock: new VirtualClock(),
  }).measure()
}

test('an H200 reports what its driver has free, which is less than total less used', async () => {
  const hardware = await measure(machines.h200)
  expect(hardware).toEqual({
    gpu_vendor: 'nvidia',
    devices: [
      {
        index: 0,
        uuid: 'GPU-0a1b2c3d-1111-2222-3333-444455556666',
        name: 'NVIDIA H200',
        total_vram: 143771 * MIB,
        available_vram: 143156 * MIB,
        unified: false,
      },
    ],
    total_ram: 131980916 * KIB,
    available_ram: 131471492 * KIB,
    total_disk: 500 * GIB,
    available_disk: 200 * GIB,
    begunMs: 0,
  })
  expect(autoLabels(hardware)).toEqual({ 'gpu.vendor': 'nvidia', 'gpu.vram': '140GiB' })
})

/** vendor, name of the first device, number of devices, total and free of the first in MiB, unified, labels' vram. */
const cards: [string, Machine, string, string, number, number, number | null, boolean, string | undefined][] = [
  ['one RTX 3090', machines.rtx3090, 'nvidia', 'NVIDIA GeForce RTX 3090', 1, 24576, 23753, false, '24GiB'],
  ['two RTX 4090', machines.twoRtx4090, 'nvidia', 'NVIDIA GeForce RTX 4090', 2, 24564, 23071, false, '47GiB'],
  ['eight H100', machines.eightH100, 'nvidia', 'NVIDIA H100 80GB HBM3', 8, 81559, 81089, false, '637GiB'],
  ['A100 split by MIG', machines.a100WithMig, 'nvidia', 'NVIDIA A100-SXM4-40GB', 2, 40960, 20536, false, '80GiB'],
  [
    'a slice in a container',
    machines.migSliceInContainer,
    'nvidia',
    'NVIDIA A100-SXM4-80GB',
    1,
    0,
    null,
    false,
    undefined,
  ],
  ['T4, warning and CRLF', machines.t4WithEcc, 'nvidia', 'Tesla T4', 1, 15360, 14923, false, '15GiB'],
  ['WSL', machines.wsl, 'nvidia', 'NVIDIA GeForce RTX 4070 Laptop GPU', 1, 8188, 6755, false, '7GiB'],
  ['Windows', machines.windows, 'nvidia', 'NVIDIA GeForce RTX 3060', 1, 12288, 11302, false, '12GiB'],
  ['RX 7900 XTX', machines.rx7900xtx, 'amd', 'AMD Radeon RX 7900 XTX', 1, 24560, 23536, false, '23GiB'],
  ['eight MI300X', machines.eightMi300x, 'amd', 'AMD Instinct MI300X OAM', 8, 196592, 196308.34375, false, '1535GiB'],
  [
    'rocm-smi only',
    machines.rocmOnly,
    'amd',
    'Navi 21 [Radeon RX 6800/6800 XT / 6900 XT]',
    1,
    16368,
    15707.921875,
    false,
    '15GiB',
  ],
  ['96 GiB carved out', machines.strixHaloCarvedOut, 'amd', 'AMD GPU 0x1586', 1, 98304, 97280, false, '96GiB'],
  ['Arc B580 without a tool', machines.arcB580, 'intel', 'Intel GPU 0xe20b', 1, 12288, null, false, '12GiB'],
  [
    'Data Center Max',
    machines.dataCenterMax,
    'intel',
    'Intel(R) Data Center GPU Max 1550',
    1,
    131072,
    130047.5,
    false,
    '128GiB',
  ],
]

test.each(cards)('%s', async (_, machine, vendor, name, count, totalMib, freeMib, unified, vram) => {
  const hardware = await measure(machine)
  expect(hardware.gpu_vendor).toBe(vendor)
  expect(hardware.devices).toHaveLength(count)
  expect(new Set(hardware.devices.map(({ uuid }) => uuid)).size).toBe(count)
  expect(hardware.devices[0]).toMatchObject({
    index: 0,
    name,
    total_vram: totalMib * MIB,
    available_vram: freeMib === null ? null : freeMib * MIB,
    unified,
  })
  expect(autoLabels(hardware)['gpu.vram']).toBe(vram)
})

test('an Arc card is told apart from the GPU of the processor', async () => {
  const { gpu_vendor, devices } = await measure(machines.arcA770)
  expect(gpu_vendor).toBe('intel')
  expect(devices).toEqual([
    {
      index: 0,
      uuid: 'pci-0000:03:00.0',
      name: 'Intel(R) Arc(TM) A770 Graphics',
      total_vram: 17079205888,
      available_vram: 16000000000,
      unified: false,
    },
  ])
})

test.each([
  ['Jetson Orin', machines.jetsonOrin, 'Orin (nvgpu)', '54cc8a5e-0001-0001-0001-000000000001'],
  ['Jetson without nvidia-smi', machines.jetsonXavier, 'NVIDIA Jetson Xavier NX Developer Kit', 'nvidia-0'],
  ['DGX Spark', machines.dgxSpark, 'NVIDIA GB10', 'GPU-6b1d0a52-0001-0001-0001-00000000ab10'],
])('%s computes in the machine’s RAM', async (_, machine, name, uuid) => {
  const { devices, total_ram, available_ram } = await measure(machine)
  expect(devices).toEqual([
    { index: 0, uuid, name, total_vram: total_ram, available_vram: available_ram, unified: true },
  ])
})

test('a Strix Halo has what was set aside for it and the RAM that it may use', async () => {
  const { gpu_vendor, devices } = await measure(machines.strixHalo)
  expect(gpu_vendor).toBe('amd')
  expect(devices).toEqual([
    {
      index: 0,
      uuid: 'pci-0000:c4:00.0',
      name: 'AMD Radeon 8060S Graphics',
      total_vram: 512 * MIB + 110 * GIB,
      available_vram: 412 * MIB + 108 * GIB,
      unified: true,
    },
  ])
})

test('a card without a unique id is no APU, however much RAM it may use', async () => {
  const { devices } = await measure(machines.rx5700xt)
  expect(devices).toMatchObject([{ total_vram: 8573157376, unified: false, uuid: 'pci-0000:0a:00.0' }])
})

test('an M2 Max shares its RAM, counted as macOS can hand it out', async () => {
  const hardware = await measure(machines.m2Max)
  const available = (262144 + 1310720 + 65536) * 16384
  expect(hardware).toMatchObject({
    gpu_vendor: 'apple',
    total_ram: 64 * GIB,
    available_ram: available,
    devices: [{ name: 'Apple M2 Max', total_vram: 64 * GIB, available_vram: available, unified: true }],
  })
  expect(autoLabels(hardware)).toEqual({ 'gpu.vendor': 'apple', 'gpu.vram': '64GiB' })
})

test.each([
  ['a laptop whose NVIDIA driver is not loaded', machines.optimusWithoutDriver],
  ['a driver that does not match its library', machines.driverMismatch],
  ['a laptop with an integrated Intel GPU', machines.intelLaptop],
  ['a Mac with an Intel processor', machines.intelMac],
  ['a container with processors only', machines.containerV2],
])('%s has no devices and no labels', async (_, machine) => {
  const hardware = await measure(machine)
  expect(hardware).toMatchObject({ gpu_vendor: null, devices: [] })
  expect(hardware.total_ram).toBeGreaterThan(0)
  expect(autoLabels(hardware)).toEqual({})
})

test.each([
  ['a container (v2), page cache not counted', machines.containerV2, 4 * GIB, 3 * GIB],
  ['a service in a slice with a limit (v2)', machines.serviceInSlice, 32 * GIB, 26 * GIB],
  ['a container (v1)', machines.containerV1, 8 * GIB, 6 * GIB],
  ['a host without a limit (v1)', machines.hostV1WithoutLimit, 131980916 * KIB, 120000000 * KIB],
])('RAM of %s', async (_, machine, total, available) => {
  expect(await measure(machine)).toMatchObject({ total_ram: total, available_ram: available })
})
