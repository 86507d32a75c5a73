import type { Facts } from './facts.ts'
import type { System } from './system.ts'
import type { Tools } from './tools.ts'

/** What the parts of the detection look at the machine through. */
export interface Edge {
  system: System
  tools: Tools
  facts: Facts
}
