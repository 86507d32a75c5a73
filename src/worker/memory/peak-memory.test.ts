import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PeakMemory, type MeasuredMemory } from './peak-memory.ts'

const on = (bytes: number, index = 0) => [{ index, bytes }]
const look = (ram: number, devices: MeasuredMemory['devices'], loaded = true): MeasuredMemory => ({
  loaded,
  ram,
  devices,
})

test('the first figure is worth telling, then only what is more than 5 % larger than what was told', () => {
  const peak = new PeakMemory()
  expect(peak.value).toBeNull()
  expect(peak.add(look(1000, on(1000)))).toBe(true)
  expect(peak.add(look(1040, on(1040)))).toBe(false)
  expect(peak.value).toEqual(look(1040, on(1040)))
  // Little by little it gets there, too.
  expect(peak.add(look(1060, on(1040)))).toBe(true)
  expect(peak.add(look(10, on(1200)))).toBe(true)
  expect(peak.value).toEqual(look(1060, on(1200)))
})

test('VRAM that could not be told at first is worth telling when it can, and is not forgotten when it cannot', () => {
  const peak = new PeakMemory()
  expect(peak.add(look(1000, null))).toBe(true)
  expect(peak.add(look(1000, null))).toBe(false)
  expect(peak.add(look(1000, on(5)))).toBe(true)
  expect(peak.add(look(1000, null))).toBe(false)
  expect(peak.add(look(1000, on(7, 1)))).toBe(true)
  expect(peak.value?.devices).toEqual([...on(5), ...on(7, 1)])
})

test('what is seen once it has loaded takes the place of all that was seen before, and grows from there', () => {
  const peak = new PeakMemory()
  expect(peak.add(look(9000, on(2500), false))).toBe(true)
  expect(peak.value).toEqual(look(9000, on(2500), false))
  expect(peak.add(look(800, on(2500)))).toBe(true)
  expect(peak.value).toEqual(look(800, on(2500)))
  // A look that began before is late.
  expect(peak.add(look(9000, on(9000), false))).toBe(false)
  // Its cache fills.
  expect(peak.add(look(700, on(3570)))).toBe(true)
  expect(peak.value).toEqual(look(800, on(3570)))
})

test('a peak is the most that was ever seen, and what was told is never far from it', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(10_000), fc.nat(10_000)), { minLength: 1 }), (looks) => {
      const peak = new PeakMemory()
      let told = { ram: 0, vram: 0 }
      for (const [ram, vram] of looks) {
        if (peak.add(look(ram, on(vram)))) told = { ram: peak.value!.ram, vram: peak.value!.devices![0]!.bytes }
        expect(peak.value!.ram).toBeLessThanOrEqual(told.ram * 1.05)
        expect(peak.value!.devices![0]!.bytes).toBeLessThanOrEqual(told.vram * 1.05)
      }
      expect(peak.value!.ram).toBe(Math.max(...looks.map(([ram]) => ram)))
      expect(peak.value!.devices).toEqual(on(Math.max(...looks.map(([, vram]) => vram))))
    }),
  )
})
