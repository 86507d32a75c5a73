import { expect, test } from 'vitest'
import { aNode, aNodeEngine } from '../../../test/support/builders.ts'
import { servedPaths } from './served-paths.ts'

const chat = '/v1/chat/completions'
const embed = '/v1/embeddings'
const nodes = (...lists: (string[] | undefined)[]) =>
  lists.map((serves, i) => aNode({ id: `n${i}`, engines: { llama: aNodeEngine(serves ? { serves } : {}) } }))

test.each<[string, ReturnType<typeof nodes>, string[] | undefined]>([
  ['what one node says', nodes([embed, chat]), [chat, embed]],
  ['what all nodes say together', nodes([chat], [embed]), [chat, embed]],
  ['nothing, where one of them does not say', nodes([chat], undefined), undefined],
  ['nothing, where no node has the engine', [aNode({ engines: {} })], undefined],
  ['what those say that have the engine', [...nodes([chat]), aNode({ id: 'x', engines: {} })], [chat]],
])('of an engine is known: %s', (_, given, paths) => {
  expect(servedPaths('llama', given)).toEqual(paths)
})
