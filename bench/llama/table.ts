export interface Row {
  name: string
  /** One for each side. */
  values: number[]
  digits: number
}

/** With two sides their ratio is last: ours to theirs. */
export function printTable(names: readonly string[], rows: readonly Row[]): void {
  const width = Math.max(...rows.map(({ name }) => name.length)) + 2
  const head = names.map((name) => name.padStart(14)).join('')
  console.log(`${''.padEnd(width)}${head}${names.length === 2 ? 'ratio'.padStart(9) : ''}`)
  for (const { name, values, digits } of rows) {
    const cells = values.map((value) => value.toFixed(digits).padStart(14)).join('')
    const ratio = values.length === 2 ? (values[0]! / values[1]!).toFixed(2).padStart(9) : ''
    console.log(`${name.padEnd(width)}${cells}${ratio}`)
  }
}
