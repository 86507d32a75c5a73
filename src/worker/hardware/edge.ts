import type { Facts } from './facts.ts'
import type { System } from './system.ts'
import type { Tools } from './tools.ts'

/** What hardware detection uses to look at the machine. */
export interface Edge {
  system: System
  tools: Tools
  facts: Facts
}
