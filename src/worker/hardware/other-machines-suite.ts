import { card, GIB, plainRam, PROFILER_QUERY, type Machine } from './machine-suite.ts'

const INTEL = { vendor: '0x8086' }

/** Arc card on the xe driver, xpu-smi installed. */
export const arcA770: Machine = {
  commands: {
    'xpu-smi discovery -j': `{
    "device_list": [
        {
            "device_function_type": "physical",
            "device_id": 0,
            "device_name": "Intel(R) Arc(TM) A770 Graphics",
            "device_type": "GPU",
            "drm_device": "/dev/dri/card1",
            "pci_bdf_address": "0000:03:00.0",
            "pci_device_id": "0x56a0",
            "uuid": "00000000-0000-0003-0000-000856a08086",
            "vendor_name": "Intel(R) Corporation"
        },
        {
            "device_id": 1,
            "device_name": "Intel(R) UHD Graphics 770",
            "pci_bdf_address": "0000:00:02.0"
        }
    ]
}
`,
    'xpu-smi discovery -d 0 -j':
      '{"device_id": 0, "device_name": "Intel(R) Arc(TM) A770 Graphics", "memory_free_size_byte": "16000000000", "memory_physical_size_byte": "17079205888", "number_of_tiles": "1"}\n',
  },
  files: { ...plainRam, ...card(0, '0000:00:02.0', INTEL), ...card(1, '0000:03:00.0', { ...INTEL, device: '0x56a0' }) },
}

/** Two tiles; this release reports used memory in `stats` only. */
export const dataCenterMax: Machine = {
  commands: {
    'xpu-smi discovery -j':
      '{"device_list": [{"device_id": 0, "device_name": "Intel(R) Data Center GPU Max 1550", "pci_bdf_address": "0000:29:00.0"}]}',
    'xpu-smi discovery -d 0 -j': '{"device_id": 0, "memory_physical_size_byte": "137438953472"}',
    'xpu-smi stats -d 0 -j':
      '{"device_id": 0, "device_level": [{"metrics_type": "XPUM_STATS_POWER", "value": 312.4}, {"metrics_type": "XPUM_STATS_MEMORY_USED", "value": 1024.5}], "tile_level": []}',
  },
  files: { ...plainRam, ...card(1, '0000:29:00.0', { ...INTEL, device: '0x0bd5' }) },
}

/** No xpu-smi: the xe driver reports the size of each tile, but not how much is free. */
export const arcB580: Machine = {
  files: {
    ...plainRam,
    ...card(0, '0000:03:00.0', { ...INTEL, device: '0xe20b', 'tile0/physical_vram_size_bytes': '12884901888' }),
  },
}

export const intelLaptop: Machine = { files: { ...plainRam, ...card(0, '0000:00:02.0', INTEL) } }

const VM_STAT = `Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                              262144.
Pages active:                           1900000.
Pages inactive:                         1310720.
Pages speculative:                        65536.
Pages throttled:                              0.
Pages wired down:                        345678.
Pages purgeable:                           6789.
"Translation faults":                 987654321.
Pages occupied by compressor:             12345.
`

export const m2Max: Machine = {
  platform: 'darwin',
  arch: 'arm64',
  commands: {
    vm_stat: VM_STAT,
    [PROFILER_QUERY]: `{
  "SPDisplaysDataType" : [
    {
      "_name" : "Apple M2 Max",
      "spdisplays_mtlgpufamilysupport" : "spdisplays_metal3",
      "spdisplays_ndrvs" : [ { "_name" : "Color LCD", "_spdisplays_pixels" : "3456 x 2234" } ],
      "spdisplays_vendor" : "sppci_vendor_Apple",
      "sppci_bus" : "spdisplays_builtin",
      "sppci_cores" : "38",
      "sppci_device_type" : "spdisplays_gpu",
      "sppci_model" : "Apple M2 Max"
    }
  ]
}
`,
  },
  memory: { totalBytes: 64 * GIB, availableBytes: 2 * GIB },
}

export const intelMac: Machine = {
  platform: 'darwin',
  arch: 'x64',
  commands: {
    vm_stat: VM_STAT.replace('16384', '4096'),
    [PROFILER_QUERY]:
      '{"SPDisplaysDataType": [{"_name": "kHW_IntelUHDGraphics630Item", "sppci_model": "Intel UHD Graphics 630", "spdisplays_vendor": "Intel"}, {"sppci_model": "AMD Radeon Pro 5500M", "spdisplays_vram": "8 GB"}]}',
  },
  memory: { totalBytes: 32 * GIB, availableBytes: GIB },
}

/** A container of 4 GiB on a machine of 126; its own group is the root of its view. */
export const containerV2: Machine = {
  files: {
    ...plainRam,
    '/proc/self/cgroup': '0::/\n',
    '/sys/fs/cgroup/memory.max': '4294967296\n',
    '/sys/fs/cgroup/memory.current': '2147483648\n',
    '/sys/fs/cgroup/memory.stat': 'anon 900000000\nfile 1100000000\nactive_file 26258176\ninactive_file 1073741824\n',
  },
}

/** A systemd service in a slice that has the limit. */
export const serviceInSlice: Machine = {
  files: {
    ...plainRam,
    '/proc/self/cgroup': '0::/system.slice/models.slice/flotilla.service\n',
    '/sys/fs/cgroup/system.slice/models.slice/flotilla.service/memory.max': 'max\n',
    '/sys/fs/cgroup/system.slice/models.slice/memory.max': String(32 * GIB),
    '/sys/fs/cgroup/system.slice/models.slice/memory.current': String(10 * GIB),
    '/sys/fs/cgroup/system.slice/models.slice/memory.stat': `inactive_file ${4 * GIB}\n`,
    '/sys/fs/cgroup/system.slice/memory.max': 'max\n',
  },
}

/** Docker on a host with cgroups v1; the path is the host's and does not exist in the container. */
export const containerV1: Machine = {
  files: {
    ...plainRam,
    '/proc/self/cgroup': '12:cpu,cpuacct:/docker/ab12\n9:memory:/docker/ab12\n1:name=systemd:/docker/ab12\n',
    '/sys/fs/cgroup/memory/memory.limit_in_bytes': '8589934592\n',
    '/sys/fs/cgroup/memory/memory.usage_in_bytes': '3221225472\n',
    '/sys/fs/cgroup/memory/memory.stat': 'cache 100\ninactive_file 5\ntotal_inactive_file 1073741824\n',
  },
}

export const hostV1WithoutLimit: Machine = {
  files: {
    ...plainRam,
    '/proc/self/cgroup': '9:memory:/user.slice\n',
    '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
    '/sys/fs/cgroup/memory/user.slice/memory.limit_in_bytes': '9223372036854771712\n',
  },
}
