import { card, GIB, meminfo, MIB, plainRam, ROCM_QUERY, type Machine } from './machine-suite.ts'

const AMD = { vendor: '0x1002' }

/** A card and the small GPU of a Ryzen 7000 processor. GTT is half of the RAM for both. */
export const rx7900xtx: Machine = {
  files: {
    ...plainRam,
    ...card(1, '0000:03:00.0', {
      ...AMD,
      device: '0x744c',
      revision: '0xc8',
      mem_info_vram_total: '25753026560',
      mem_info_vram_used: '1073741824',
      mem_info_gtt_total: '67574235136',
      mem_info_gtt_used: '30000000',
      unique_id: '6b1d0a5200000790',
      mem_busy_percent: '0',
    }),
    '/sys/class/drm/card1-DP-1/status': 'connected\n',
    '/sys/class/drm/renderD128/dev': '226:128\n',
    ...card(2, '0000:0e:00.0', {
      ...AMD,
      device: '0x164e',
      revision: '0xc6',
      mem_info_vram_total: '536870912',
      mem_info_vram_used: '26079232',
      mem_info_gtt_total: '67574235136',
      mem_info_gtt_used: '14000000',
    }),
    '/usr/share/libdrm/amdgpu.ids':
      '# List of AMDGPU IDs\n#\n1.0.0\n744C,\tC8,\tAMD Radeon RX 7900 XTX\n744C,\tCC,\tAMD Radeon RX 7900 XT\n',
  },
}

/** Has no unique id (as all Navi 10) and more GTT than its own memory: still a card. */
export const rx5700xt: Machine = {
  files: {
    ...plainRam,
    ...card(0, '0000:0a:00.0', {
      ...AMD,
      device: '0x731f',
      revision: '0xc1',
      mem_info_vram_total: '8573157376',
      mem_info_vram_used: '500000000',
      mem_info_gtt_total: '67574235136',
      mem_info_gtt_used: '30000000',
      mem_busy_percent: '0',
    }),
  },
}

/** Beside the eight there is the board's own display controller. */
export const eightMi300x: Machine = {
  files: {
    '/proc/meminfo': meminfo(2377000000, 2300000000),
    ...card(0, '0000:45:00.0', { vendor: '0x1a03' }),
    ...Object.fromEntries(
      Array.from({ length: 8 }, (_, i) =>
        Object.entries(
          card(i + 1, `0000:${i}5:00.0`, {
            ...AMD,
            device: '0x74a1',
            revision: '0x00',
            product_name: 'AMD Instinct MI300X OAM',
            mem_info_vram_total: '206141652992',
            mem_info_vram_used: '297435136',
            mem_info_gtt_total: '1216000000000',
            mem_info_gtt_used: '1000000',
            unique_id: `6b1d0a520000030${i}`,
            mem_busy_percent: '0',
          }),
        ),
      ).flat(),
    ),
  },
}

export const strixHalo: Machine = {
  files: {
    '/proc/meminfo': meminfo(131000000, 120000000),
    ...card(1, '0000:c4:00.0', {
      ...AMD,
      device: '0x1586',
      revision: '0xc1',
      mem_info_vram_total: String(512 * MIB),
      mem_info_vram_used: String(100 * MIB),
      mem_info_gtt_total: String(110 * GIB),
      mem_info_gtt_used: String(2 * GIB),
    }),
    '/usr/share/libdrm/amdgpu.ids': '1586,\tC1,\tAMD Radeon 8060S Graphics\n',
  },
}

/** The same machine with 96 GiB set aside in the BIOS. */
export const strixHaloCarvedOut: Machine = {
  files: {
    '/proc/meminfo': meminfo(32000000, 28000000),
    ...card(1, '0000:c4:00.0', {
      ...AMD,
      device: '0x1586',
      revision: '0xc1',
      mem_info_vram_total: String(96 * GIB),
      mem_info_vram_used: String(GIB),
      mem_info_gtt_total: String(15 * GIB),
      mem_info_gtt_used: '0',
    }),
  },
}

/** A container that has /dev/kfd and rocm-smi, but no /sys/class/drm. Key names of ROCm 6. */
export const rocmOnly: Machine = {
  commands: {
    [ROCM_QUERY]: `WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status

{"card0": {"Unique ID": "0x6b1d0a5200000680", "VRAM Total Memory (B)": "17163091968", "VRAM Total Used Memory (B)": "692142080", "Card Series": "Navi 21 [Radeon RX 6800/6800 XT / 6900 XT]", "Card Model": "0x73bf", "Card Vendor": "Advanced Micro Devices, Inc. [AMD/ATI]", "Card SKU": "001", "GFX Version": "gfx1030"}, "system": {"Driver version": "6.8.0"}}
`,
  },
  files: plainRam,
}
