import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AppError } from '../platform/errors.ts'
import { aNodeView } from '../../test/support/cli/cli.ts'
import { atNodes } from './at-nodes.ts'

test('many nodes are asked, a few at a time; answers keep their order and failures their place', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 40 }), async (fails) => {
      const nodes = fails.map((_, i) => aNodeView({ id: String(i) }))
      let [running, most] = [0, 0]
      const results = await atNodes(nodes, async ({ id }) => {
        most = Math.max(most, (running += 1))
        // Later ones are quicker.
        for (let i = Number(id); i < nodes.length; i += 1) await Promise.resolve()
        running -= 1
        if (fails[Number(id)]) throw new AppError('unavailable', id)
        return id
      })
      expect(results.map(({ reply, error }) => reply ?? error?.message)).toEqual(nodes.map(({ id }) => id))
      expect(most).toBeLessThanOrEqual(8)
    }),
  )
})

test('what is not an expected failure is not hidden', async () => {
  await expect(atNodes([aNodeView()], () => Promise.reject(new TypeError('a mistake')))).rejects.toThrow('a mistake')
})
