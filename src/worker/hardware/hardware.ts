/** What a worker's machine has, in bytes. The names are those of the API and the store. */
export interface Device {
  index: number
  uuid: string
  name: string
  /** 0: there is such a device, but it does not say how much memory it has. Nothing can be placed on it. */
  total_vram: number
  /** null: not known at the moment. */
  available_vram: number | null
  /** The device works in the machine's RAM, so what it takes is missing there and the other way round. */
  unified: boolean
}

export type GpuVendor = 'nvidia' | 'amd' | 'intel' | 'apple'

export interface Hardware {
  gpu_vendor: GpuVendor | null
  devices: Device[]
  /** Within the limits of the control group the worker runs in. */
  total_ram: number
  available_ram: number
  /** Of the disk that holds the worker's folder; a total of 0 means that it could not be found out. */
  total_disk: number
  available_disk: number
}

/** With when the oldest figure of its memory was begun to be read: later ends of processes may not be in it. */
export interface ReadHardware extends Hardware {
  begunMs: number
}

/** A size and what is left of it. */
export interface Space {
  totalBytes: number
  availableBytes: number
}

/** A device as its vendor's tool or the kernel tells of it, before the machine's RAM is taken into account. */
export interface Found {
  index: number
  uuid: string
  name: string
  /** Its own memory; 0 when it has none or does not tell. */
  totalBytes: number
  /** What is free of its own memory; null when it does not tell. */
  freeBytes: number | null
  /** How much of the machine's RAM it may use besides; null for a card with memory of its own only. */
  shared: { mostBytes: number; usedBytes: number } | null
}

/** What one attempt to look at a part of the machine came to. `why` is for the log. */
export type Reading<T> = { ok: true; value: T } | { ok: false; why: string }
