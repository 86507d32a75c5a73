import { expect, test } from 'vitest'
import { restartQuestion, unloadQuestion } from './replica-questions.ts'
import { aReplica } from './testing.ts'

test('unloading an idle replica names it and its node and is no danger', () => {
  const question = unloadQuestion([aReplica({ replica_index: 1 })], 'ada', false)
  expect(question).toMatchObject({ title: 'Unload llama#1 from ada?', isDanger: false, confirm: 'Unload' })
  expect(question.text).toBe('No requests are running on it.')
})

test('requests that run are counted over all that are unloaded, and make it a danger', () => {
  const some = [aReplica({ in_flight: 2 }), aReplica({ replica_index: 1, in_flight: 1 })]
  const question = unloadQuestion(some, 'ada', true)
  expect(question).toMatchObject({ title: 'Unload all 2 replicas of llama from ada?', isDanger: true })
  expect(question.text).toContain('3 requests are running')
  expect(question.text).toContain('interrupted')
  expect(question.text).toContain('A rule asks for llama')
})

test('a restart warns of the one request that runs', () => {
  expect(restartQuestion(aReplica({ in_flight: 1 }), 'ada')).toMatchObject({
    isDanger: true,
    text: expect.stringContaining('1 request is running') as string,
  })
})
