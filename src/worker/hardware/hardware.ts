/** What a worker's machine has, in bytes. The API and the store use the same names. */
export interface Device {
  index: number
  uuid: string
  name: string
  /** 0: the device does not report its memory. Nothing can be placed on it. */
  total_vram: number
  /** null: currently unknown. */
  available_vram: number | null
  /** The device uses the machine's RAM: what it takes is missing there, and the other way round. */
  unified: boolean
}

export type GpuVendor = 'nvidia' | 'amd' | 'intel' | 'apple'

export interface Hardware {
  gpu_vendor: GpuVendor | null
  devices: Device[]
  /** Within the limits of the control group the worker runs in. */
  total_ram: number
  available_ram: number
  /** The disk that holds the worker's folder; a total of 0 means that it could not be measured. */
  total_disk: number
  available_disk: number
}

/**
 * With the time at which the read of its oldest memory figure began: processes that ended later may still be counted.
 */
export interface ReadHardware extends Hardware {
  begunMs: number
}

/** A size and what is left of it. */
export interface Space {
  totalBytes: number
  availableBytes: number
}

/** A device as the vendor's tool or the kernel reports it, before the machine's RAM is taken into account. */
export interface Found {
  index: number
  uuid: string
  name: string
  /** Its own memory; 0 when it has none or does not report it. */
  totalBytes: number
  /** What is free of its own memory; null when it does not report that. */
  freeBytes: number | null
  /** How much of the machine's RAM it may use as well; null for a card that only uses its own memory. */
  shared: { mostBytes: number; usedBytes: number } | null
}

/** The result of one attempt to read a part of the machine. `why` is for the log. */
export type Reading<T> = { ok: true; value: T } | { ok: false; why: string }
