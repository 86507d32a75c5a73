import { device } from '../../src/api/hardware.ts'
import { findInIds } from '../../src/worker/hardware/amd.ts'
import { parseDisplays } from '../../src/worker/hardware/apple.ts'
import { levels, parseSelfCgroup } from '../../src/worker/hardware/cgroup.ts'
import { toDevices } from '../../src/worker/hardware/devices.ts'
import { parseClients } from '../../src/worker/hardware/fdinfo.ts'
import { parseMeminfo, parseVmStat } from '../../src/worker/hardware/memory.ts'
import { parseNvidiaSmi } from '../../src/worker/hardware/nvidia.ts'
import { parseComputeApps } from '../../src/worker/hardware/process-vram.ts'
import { parseRocmSmi } from '../../src/worker/hardware/rocm-smi.ts'
import { parseDiscovery, parseMemory, parseStats } from '../../src/worker/hardware/xpu-smi.ts'
import { parseParts } from '../../src/worker/processes/group-memory.ts'
import { parseTicks } from '../../src/worker/processes/group-work.ts'
import { parseTable } from '../../src/worker/processes/listener.ts'
import { parseStat } from '../../src/worker/processes/process-look.ts'
import type { Found } from '../../src/worker/hardware/hardware.ts'
import { spoiled } from '../spoil.ts'
import { spoiledJson } from '../spoil-json.ts'
import { insist, type FuzzTarget } from '../target.ts'

const RAM = { totalBytes: 2 ** 36, availableBytes: 2 ** 35 }
const h200 = '0, GPU-0a1b2c3d-1111-2222-3333-444455556666, NVIDIA H200, 143771, 0, 143156\n'
const rocm = {
  card0: {
    'Card series': 'Vega 20',
    'VRAM Total Memory (B)': '100',
    'VRAM Total Used Memory (B)': '40',
    'Unique ID': '0xabc',
  },
  system: {},
}
const xpu = {
  device_list: [{ device_id: 0, device_name: 'Arc', pci_bdf_address: '0000:03:00.0' }],
  memory_physical_size_byte: '1000',
  memory_free_size: '12.5 MiB',
  device_level: [{ metrics_type: 'XPUM_STATS_MEMORY_USED', value: 3.5 }],
}
const apple = { SPDisplaysDataType: [{ sppci_model: 'Apple M2', spdisplays_vendor: 'sppci_vendor_Apple', _name: 'x' }] }

export const hardwareTargets: readonly FuzzTarget[] = [
  {
    name: 'nvidia-smi',
    reads: 'what nvidia-smi prints: devices, and processes on them',
    cases: spoiled(
      [h200, h200 + h200.replace('0,', '1,'), '0, [N/A], Thor, [N/A], [N/A], [N/A]\n', '123, GPU-x, 500\n'],
      [', ', ' MiB', '[N/A]', '\n', '0, '],
    ),
    read(bytes) {
      const text = bytes.toString()
      checkFound(parseNvidiaSmi(text))
      for (const { bytes: used } of parseComputeApps(text)) insist(used === null || used >= 0, 'less than nothing')
    },
  },
  {
    name: 'rocm-smi',
    reads: 'what rocm-smi prints, and the list of AMD names',
    cases: spoiledJson([rocm]),
    read(bytes) {
      const text = bytes.toString()
      checkFound(parseRocmSmi(text))
      findInIds(text, '0x744c', '0xc8')
    },
  },
  {
    name: 'xpu-smi',
    reads: 'what xpu-smi prints',
    cases: spoiledJson([xpu, xpu.device_list]),
    read(bytes) {
      const text = bytes.toString()
      for (const { index } of parseDiscovery(text)) insist(Number.isSafeInteger(index) && index >= 0, 'no index')
      const memory = parseMemory(text)
      insist(memory === null || (memory.totalBytes > 0 && (memory.freeBytes ?? 0) >= 0), 'no memory')
      insist((parseStats(text) ?? 0) >= 0, 'less than nothing')
    },
  },
  {
    name: 'system-profiler',
    reads: 'what system_profiler and vm_stat print',
    cases: spoiledJson([apple]),
    read(bytes) {
      insist((parseDisplays(bytes.toString())?.length ?? 0) <= 1, 'more than one')
      insist((parseVmStat(bytes.toString()) ?? 0) >= 0, 'less than nothing')
    },
  },
  {
    name: 'proc-files',
    reads: '/proc: memory, control groups, drivers, processes and sockets',
    cases: spoiled(
      [
        'MemTotal:       131980916 kB\nMemAvailable:   131471492 kB\n',
        '0::/a/b/c\n9:memory,cpu:/x\n',
        '/proc/12/fdinfo/3:drm-pdev:\t0000:03:00.0\n/proc/12/fdinfo/3:drm-memory-vram:\t12 KiB\n/proc/12/fdinfo/3:drm-client-id:\t5\n',
        '12 (na) me) S 1 12 12 0 -1 4194560 1 0 0 0 7 8 0 0 20 0 1 0 999 1 1\n',
        '  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 4242 1\n',
        'RssAnon:\t 100 kB\nRssFile:\t 200 kB\nRssShmem:\t 3 kB\n',
      ],
      [' kB', ':', '\n', ')', '(', '/proc/', 'drm-', '0A', ' '],
    ),
    read(bytes) {
      const text = bytes.toString('latin1')
      const memory = parseMeminfo(text)
      insist(memory === null || (memory.totalBytes > 0 && memory.availableBytes >= 0), 'no memory')
      for (const path of Object.values(parseSelfCgroup(text))) insist(levels(path).length <= 17, 'too deep')
      for (const { vram, gtt } of parseClients(text)) insist(vram >= 0 && gtt >= 0, 'less than nothing')
      parseStat(text)
      parseTable(text, 8080)
      parseTicks(text)
      parseParts(text)
    },
  },
]

function checkFound(found: Found[]): void {
  for (const one of toDevices(found, RAM, 0)) insist(device.safeParse(one).success, `no device: ${JSON.stringify(one)}`)
}
