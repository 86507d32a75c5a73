const SPACES = /[ \t\r\n]*/y
const WORD = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
// What ends a string, or may not be in one as it is: a quote, a backslash, and whatever comes before the space.
const SPECIAL = /["\\]|[^ -\uffff]/g
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/** Where a text stops being JSON, counted from 0; undefined when it is JSON. What JSON.parse says is not always enough. */
export function jsonMistakeAt(text: string): number | undefined {
  /** What closes the lists and objects that are open here. */
  const closers: ('}' | ']')[] = []
  let at = 0
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    const isThere = pattern.test(text)
    if (isThere) at = pattern.lastIndex
    return isThere
  }
  const take = (char: string): boolean => {
    skip(SPACES)
    if (text[at] !== char) return false
    at += 1
    return true
  }
  /** A key and its colon, or whatever stands in a list in their place: nothing. */
  const hasKey = (): boolean => {
    if (closers.at(-1) !== '}') return true
    skip(SPACES)
    return skipString() && take(':')
  }
  // From one character that means something to the next: a pattern for all of it would run out of memory on long ones.
  const skipString = (): boolean => {
    if (text[at] !== '"') return false
    at += 1
    for (;;) {
      SPECIAL.lastIndex = at
      at = SPECIAL.exec(text)?.index ?? text.length
      if (text[at] === '"') break
      if (!skip(ESCAPE)) return false
    }
    at += 1
    return true
  }
  for (;;) {
    if (take('{')) closers.push('}')
    else if (take('[')) closers.push(']')
    else {
      skip(SPACES)
      if (!(text[at] === '"' ? skipString() : skip(WORD)) || !isAfterValue()) return at
      if (closers.length === 0) return atEnd()
      continue
    }
    if (take(closers.at(-1)!)) {
      closers.pop()
      if (!isAfterValue()) return at
      if (closers.length === 0) return atEnd()
    } else if (!hasKey()) return at
  }

  /** Goes on to the next value, closing what ends here. */
  function isAfterValue(): boolean {
    while (closers.length > 0) {
      if (take(',')) return hasKey()
      if (!take(closers.at(-1)!)) return false
      closers.pop()
    }
    return true
  }

  function atEnd(): number | undefined {
    skip(SPACES)
    return at === text.length ? undefined : at
  }
}
