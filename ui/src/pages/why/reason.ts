import type { PillTone } from '../../parts/pill.tsx'

/** One branch of an explanation. */
export interface Reason {
  text: string
  /** A word beside it, in the colour of how good that is. */
  verdict?: { text: string; tone: PillTone }
  /** Where to look further. */
  to?: string
  children?: readonly Reason[]
  /** Shown only when somebody opens it. */
  isFolded?: boolean
}
