import { expect, test } from 'vitest'
import { codeBlocks } from './code-blocks.ts'

const page = (...fences: string[]) => fences.map((info) => `text\n\`\`\`${info}\ncode\n\`\`\``).join('\n')

test('blocks are told apart by what stands behind the fence', () => {
  const found = codeBlocks(page('sh', 'sh serves on second', 'sh not-run: no GPU here', 'yaml a.yaml', 'yaml', ''))
  expect(found.map(({ kind, machine, note, line }) => [kind, machine, note, line])).toEqual([
    ['runs', 'first', '', 2],
    ['serves', 'second', '', 6],
    ['not run', 'first', 'no GPU here', 10],
    ['file', 'first', 'a.yaml', 14],
  ])
  expect(found[0]!.code).toBe('code')
})

test.each(['sh nott-run: x', 'sh not-run:', 'bash', 'console'])('%s is a mistake', (info) => {
  expect(() => codeBlocks(page(info))).toThrow('```')
})
