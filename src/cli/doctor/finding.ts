/** What was checked, the result, and the remedy. */
export interface Finding {
  /** One or two words: `disk`, `port of gpu-1`. */
  what: string
  state: 'ok' | 'note' | 'broken'
  text: string
  fix?: string
}

export const ok = (what: string, text: string): Finding => ({ what, state: 'ok', text })
export const note = (what: string, text: string, fix: string): Finding => ({ what, state: 'note', text, fix })
export const broken = (what: string, text: string, fix: string): Finding => ({ what, state: 'broken', text, fix })
