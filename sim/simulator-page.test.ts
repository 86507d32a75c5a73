import fs from 'node:fs'
import { expect, test } from 'vitest'
import { faultTexts } from './report/fault-texts.ts'
import { plantedBugs } from './planted/planted.ts'

const page = fs.readFileSync(new URL('../docs/reference/simulator.md', import.meta.url), 'utf8')

test('the page names every kind of fault, every check and every planted bug as they are', () => {
  for (const [name, text] of Object.entries(faultTexts)) expect(page).toContain(`| \`${name}\` | ${text} |`)
  for (const { name, caughtBy, withinSeeds } of plantedBugs) {
    expect(page).toMatch(new RegExp(String.raw`\| \`${name}\` \| .* \| ${caughtBy} \| .* \| ${withinSeeds} \|`))
  }
  for (const file of fs.globSync('checks/*.ts', { cwd: import.meta.dirname })) {
    const [, name] = /name: '([a-z -]+?) \(/.exec(fs.readFileSync(new URL(file, import.meta.url), 'utf8')) ?? []
    if (name !== undefined) expect(page).toMatch(new RegExp(String.raw`^\| ${name}( \(\d+\))? \| `, 'm'))
  }
})
