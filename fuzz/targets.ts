import type { FuzzTarget } from './target.ts'
import { archiveTargets } from './targets/archives.ts'
import { bodyTargets } from './targets/bodies.ts'
import { busTargets } from './targets/bus.ts'
import { cableTargets } from './targets/cable.ts'
import { documentTargets } from './targets/documents.ts'
import { hardwareTargets } from './targets/hardware.ts'
import { headerTargets } from './targets/headers.ts'
import { httpTargets } from './targets/http.ts'
import { modelFileTargets } from './targets/model-files.ts'
import { textTargets } from './targets/texts.ts'

/** Every parser of bytes from outside. */
export const fuzzTargets: readonly FuzzTarget[] = [
  ...httpTargets,
  ...cableTargets,
  ...headerTargets,
  ...bodyTargets,
  ...busTargets,
  ...documentTargets,
  ...textTargets,
  ...modelFileTargets,
  ...hardwareTargets,
  ...archiveTargets,
]
