import { expect, test } from 'vitest'
import { cliReference, optionsReference } from './reference.ts'

test('docs/reference/cli.md is what --help says (vitest -u writes it anew)', async () => {
  await expect(cliReference()).toMatchFileSnapshot('../../docs/reference/cli.md')
})

test('docs/reference/configuration.md has every option (vitest -u writes it anew)', async () => {
  await expect(optionsReference()).toMatchFileSnapshot('../../docs/reference/configuration.md')
})
