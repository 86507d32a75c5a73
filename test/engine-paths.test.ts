import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { builtInProfiles } from '../src/worker/engines/built-in.ts'

test.each(['llama', 'sim'])(
  'what the profile of %s says that it serves, and nothing else, is what it serves',
  (name) => {
    const routes = readFileSync(`engines/${name}/routes.ts`, 'utf8')
    const served = [...routes.matchAll(/\['(\/v1\/[^']+)'/g)].map(([, path]) => path!)
    const profile = builtInProfiles.find((one) => one.name === name)!
    expect([profile.serves.toSorted(), profile.serves_no_other]).toEqual([served.toSorted(), true])
  },
)
