import { card, GIB, meminfo, NVIDIA_QUERY, plainRam, type Machine } from './machine-suite.ts'

/** Recorded: driver 580.159.04, kernel 6.18, one GPU passed to a virtual machine. There is no /sys/class/drm. */
export const h200: Machine = {
  commands: { [NVIDIA_QUERY]: '0, GPU-0a1b2c3d-1111-2222-3333-444455556666, NVIDIA H200, 143771, 0, 143156\n' },
  files: {
    '/proc/meminfo':
      'MemTotal:       131980916 kB\nMemFree:        130695300 kB\nMemAvailable:   131471492 kB\nBuffers:           36604 kB\nCached:           951628 kB\nSwapCached:            0 kB\nActive:            45560 kB\nInactive:         932540 kB\n',
    '/proc/self/cgroup': '0::/process_api/55cb8921118920906200041414d5a90b\n',
    // The root group of a v2 hierarchy has memory.stat, but neither memory.max nor memory.current.
    '/sys/fs/cgroup/memory.stat': 'anon 1929216\nfile 1012092928\nkernel 7254016\ninactive_file 953765888\n',
  },
}

export const rtx3090: Machine = {
  commands: {
    [NVIDIA_QUERY]: '0, GPU-6b1d0a52-0001-0001-0001-000000003090, NVIDIA GeForce RTX 3090, 24576, 512, 23753\n',
  },
  // The processor's own GPU lists itself beside the card.
  files: {
    ...plainRam,
    ...card(0, '0000:00:02.0', { vendor: '0x8086' }),
    ...card(1, '0000:01:00.0', { vendor: '0x10de' }),
  },
}

export const twoRtx4090: Machine = {
  commands: {
    [NVIDIA_QUERY]:
      '0, GPU-6b1d0a52-0001-0001-0001-000000004090, NVIDIA GeForce RTX 4090, 24564, 1012, 23071\n' +
      '1, GPU-6b1d0a52-0001-0001-0001-000000004091, NVIDIA GeForce RTX 4090, 24564, 18, 24065\n',
  },
  files: plainRam,
}

export const eightH100: Machine = {
  commands: {
    [NVIDIA_QUERY]: Array.from(
      { length: 8 },
      (_, i) => `${i}, GPU-6b1d0a52-0001-0001-0001-00000000010${i}, NVIDIA H100 80GB HBM3, 81559, 4, 81089\n`,
    ).join(''),
  },
  files: { '/proc/meminfo': meminfo(2113500000, 2050000000) },
}

/** On the host, a split A100 still reports its memory as a whole. */
export const a100WithMig: Machine = {
  commands: {
    [NVIDIA_QUERY]:
      '0, GPU-6b1d0a52-0001-0001-0001-000000000a10, NVIDIA A100-SXM4-40GB, 40960, 19968, 20536\n' +
      '  MIG 3g.20gb     Device  0: (UUID: MIG-6b1d0a52-0001-0001-0001-000000000a11)\n' +
      '  MIG 3g.20gb     Device  1: (UUID: MIG-6b1d0a52-0001-0001-0001-000000000a12)\n' +
      '1, GPU-6b1d0a52-0001-0001-0001-000000000a13, NVIDIA A100-SXM4-40GB, 40960, 0, 40536\n',
  },
  files: plainRam,
}

/** In a container with one slice, the tool may not read the whole card. */
export const migSliceInContainer: Machine = {
  commands: {
    [NVIDIA_QUERY]:
      '0, GPU-6b1d0a52-0001-0001-0001-000000000a80, NVIDIA A100-SXM4-80GB, [Insufficient Permissions], [Insufficient Permissions], [Insufficient Permissions]\n',
  },
  files: plainRam,
}

export const t4WithEcc: Machine = {
  commands: {
    [NVIDIA_QUERY]:
      'WARNING: infoROM is corrupted at gpu 0000:00:1E.0\r\n0, GPU-6b1d0a52-0001-0001-0001-0000000000f4, Tesla T4, 15360, 2, 14923\r\n',
  },
  files: plainRam,
}

export const jetsonOrin: Machine = {
  arch: 'arm64',
  commands: { [NVIDIA_QUERY]: '0, 54cc8a5e-0001-0001-0001-000000000001, Orin (nvgpu), [N/A], [N/A], [N/A]\n' },
  files: { '/proc/meminfo': meminfo(64349864, 58000000), '/sys/devices/soc0/family': 'Tegra\n' },
}

/** JetPack 5 has no nvidia-smi. */
export const jetsonXavier: Machine = {
  arch: 'arm64',
  files: {
    '/proc/meminfo': meminfo(15821112, 12000000),
    '/sys/devices/soc0/family': 'Tegra\n',
    '/proc/device-tree/model': 'NVIDIA Jetson Xavier NX Developer Kit\0',
  },
}

export const dgxSpark: Machine = {
  arch: 'arm64',
  commands: { [NVIDIA_QUERY]: '0, GPU-6b1d0a52-0001-0001-0001-00000000ab10, NVIDIA GB10, [N/A], [N/A], [N/A]\n' },
  files: { '/proc/meminfo': meminfo(125489508, 117000000) },
}

/** An NVIDIA card beside the processor's GPU, with no driver loaded. */
export const optimusWithoutDriver: Machine = {
  commands: {
    [NVIDIA_QUERY]: {
      code: 9,
      stdout:
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n\n",
    },
  },
  files: { ...plainRam, ...card(0, '0000:00:02.0', { vendor: '0x8086' }) },
}

export const driverMismatch: Machine = {
  commands: {
    [NVIDIA_QUERY]: {
      code: 18,
      stdout: 'Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.90\n',
    },
  },
  files: plainRam,
}

export const wsl: Machine = {
  commands: {
    [`/usr/lib/wsl/lib/${NVIDIA_QUERY}`]:
      '0, GPU-6b1d0a52-0001-0001-0001-000000004070, NVIDIA GeForce RTX 4070 Laptop GPU, 8188, 1203, 6755\n',
  },
  files: { '/proc/meminfo': meminfo(16318216, 15000000) },
}

export const windows: Machine = {
  platform: 'win32',
  commands: {
    [NVIDIA_QUERY]: '0, GPU-6b1d0a52-0001-0001-0001-000000003060, NVIDIA GeForce RTX 3060, 12288, 800, 11302\r\n',
  },
  memory: { totalBytes: 32 * GIB, availableBytes: 20 * GIB },
}
