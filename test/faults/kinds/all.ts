import type { Fault } from '../fault.ts'
import { doubles } from './doubles.ts'
import { bodyFaults } from './bodies.ts'
import { freezes } from './freeze.ts'
import { hostileMembers } from './hostile.ts'
import { identityFaults } from './identity.ts'
import { kills } from './kill.ts'
import { machineFaults } from './machine.ts'
import { outages } from './outage.ts'
import { partitions } from './partition.ts'
import { reportFaults } from './reports.ts'
import { rollingRestarts } from './rolling.ts'

const GROUPS: Fault['group'][] = [
  'frontend',
  'gateway',
  'worker',
  'engine',
  'network',
  'store',
  'bus',
  'machine',
  'rolling restart',
]

export const allFaults: Fault[] = [
  ...kills,
  ...freezes,
  ...partitions,
  ...bodyFaults,
  ...outages,
  ...identityFaults,
  ...hostileMembers,
  ...machineFaults,
  ...reportFaults,
  ...rollingRestarts,
  ...doubles,
].toSorted((a, b) => GROUPS.indexOf(a.group) - GROUPS.indexOf(b.group))
