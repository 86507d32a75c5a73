import { expect, test } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import type { Device, GpuVendor } from './hardware.ts'
import { card, GIB, MIB, systemOf, type Machine } from './machine-suite.ts'
import { createProcessVram, type Holding } from './process-vram.ts'

const APPS = 'nvidia-smi --query-compute-apps=pid,gpu_uuid,used_gpu_memory --format=csv,noheader,nounits'

function aDevice(fields: Partial<Device> = {}): Device {
  return { index: 0, uuid: 'GPU-a', name: 'X', total_vram: 24 * GIB, available_vram: null, unified: false, ...fields }
}

async function readOn(
  machine: Machine,
  vendor: GpuVendor | null,
  devices: Device[],
  pids: number[],
): Promise<{ holdings: Holding[] | null; ran: string[] }> {
  const system = systemOf(machine)
  const vram = createProcessVram({ clock: new VirtualClock(), system })
  return { holdings: await vram.read({ gpu_vendor: vendor, devices }, pids), ran: system.ran }
}

test('without a GPU no tool is started', async () => {
  expect(await readOn({}, null, [], [1, 2])).toEqual({ holdings: [], ran: [] })
})

/** The first line was recorded on an H200, where the process had asked for 3 GiB. */
test('NVIDIA’s tool is asked once for all processes; devices are known by their uuid', async () => {
  const devices = [aDevice(), aDevice({ index: 1, uuid: 'GPU-b' })]
  const output = '424, GPU-a, 3590\n424, GPU-b, 10\n500, GPU-b, 20 MiB\n666, GPU-a, 1\n7, GPU-of-nobody, 5\n'
  const { holdings, ran } = await readOn({ commands: { [APPS]: output } }, 'nvidia', devices, [424, 500, 7])
  expect(ran).toEqual([APPS])
  expect(holdings).toEqual([
    { pid: 424, index: 0, bytes: 3590 * MIB },
    { pid: 424, index: 1, bytes: 10 * MIB },
    { pid: 500, index: 1, bytes: 20 * MIB },
  ])
})

test('a figure that NVIDIA’s tool does not have is unknown and not 0; a tool that fails tells nothing', async () => {
  const says = async (output: string | { code: number; stdout: string }) =>
    (await readOn({ commands: { [APPS]: output } }, 'nvidia', [aDevice()], [424])).holdings
  expect(await says('424, GPU-a, [N/A]\n')).toEqual([{ pid: 424, index: 0, bytes: null }])
  expect(await says('No running processes found\n')).toEqual([])
  expect(await says({ code: 9, stdout: 'Failed to initialize NVML\n' })).toBeNull()
  expect((await readOn({}, 'nvidia', [aDevice()], [424])).holdings).toBeNull()
})

const grepOf = (...pids: number[]): string => `grep -rs ^drm- ${pids.map((pid) => `/proc/${pid}/fdinfo`).join(' ')}`
const fd = (pid: number, number: number, fields: Record<string, string>): string =>
  Object.entries(fields)
    .map(([key, value]) => `/proc/${pid}/fdinfo/${number}:drm-${key}:\t${value}\n`)
    .join('')

test('amdgpu: each client counts once, though it is open twice and inherited', async () => {
  const client = { driver: 'amdgpu', pdev: '0000:03:00.0', 'client-id': '12', 'memory-vram': '2048 KiB' }
  const machine: Machine = {
    files: {
      ...card(0, '0000:01:00.0', { vendor: '0x1a03' }),
      ...card(1, '0000:03:00.0', { vendor: '0x1002' }),
      ...card(2, '0000:0e:00.0', { vendor: '0x1002' }),
    },
    commands: {
      [grepOf(10, 11)]: {
        code: 2,
        stdout:
          fd(10, 5, { ...client, 'memory-gtt': '7 KiB' }) +
          fd(10, 6, client) +
          fd(11, 5, client) +
          fd(11, 9, { ...client, 'client-id': '13', pdev: '0000:0e:00.0', 'resident-vram': '3 MiB' }) +
          fd(11, 10, { ...client, 'client-id': '14', pdev: '0000:99:00.0' }),
      },
    },
  }
  const { holdings } = await readOn(machine, 'amd', [aDevice(), aDevice({ index: 1 })], [10, 11])
  expect(holdings).toEqual([
    { pid: 10, index: 0, bytes: 2048 * 1024 },
    { pid: 11, index: 1, bytes: 3 * MIB },
  ])
  const apu = await readOn(machine, 'amd', [aDevice({ unified: true })], [10, 11])
  expect(apu.holdings).toEqual([{ pid: 10, index: 0, bytes: (2048 + 7) * 1024 }])
})

test('xe and i915 say it in their own words; the processor’s own GPU has no index', async () => {
  const machine: Machine = {
    files: {
      ...card(0, '0000:00:02.0', { vendor: '0x8086' }),
      ...card(1, '0000:03:00.0', { vendor: '0x8086' }),
      ...card(2, '0000:04:00.0', { vendor: '0x8086' }),
    },
    commands: {
      [grepOf(10)]:
        fd(10, 3, {
          pdev: '0000:03:00.0',
          'client-id': '3',
          'total-vram0': '99 MiB',
          'resident-vram0': '23992 KiB',
          'resident-vram1': '8 KiB',
          'resident-gtt': '192 KiB',
        }) + fd(10, 4, { pdev: '0000:04:00.0', 'client-id': '4', 'resident-local0': '5 MiB', 'resident-system0': '0' }),
    },
  }
  const { holdings } = await readOn(machine, 'intel', [aDevice(), aDevice({ index: 1 })], [10])
  expect(holdings).toEqual([
    { pid: 10, index: 0, bytes: 24_000 * 1024 },
    { pid: 10, index: 1, bytes: 5 * MIB },
  ])
})

test('where the kernel lists no cards, and on Apple, it cannot be told by process', async () => {
  expect((await readOn({}, 'amd', [aDevice()], [10])).holdings).toBeNull()
  expect((await readOn({ platform: 'darwin' }, 'apple', [aDevice()], [10])).holdings).toBeNull()
})
