import { describe, expect, test } from 'vitest'
import { aLoading, aLoadStatus } from '../../../test/support/control/scripted-control.ts'
import { controlAway, loadFailed, noCapacity, stillLoading } from './load-errors.ts'

describe('a model that is still on its way', () => {
  test.each([
    [aLoading({ eta_seconds: 120 }), 'Model "m" is staging on node thor (43 %, about 2 min left). Try again in 120 s.'],
    [aLoading({ eta_seconds: 1 }), 'Model "m" is staging on node thor (43 %, about 1 s left). Try again in 5 s.'],
    [aLoading({ eta_seconds: 9000 }), 'Model "m" is staging on node thor (43 %, about 3 h left). Try again in 300 s.'],
    [aLoading(), 'Model "m" is staging on node thor (43 %). Try again in 60 s.'],
    [aLoading({ state: 'loading', progress: 0 }), 'Model "m" is loading on node thor. Try again in 60 s.'],
    [aLoading({ state: 'reserved', node: null, progress: 0 }), 'Model "m" is about to be started. Try again in 60 s.'],
  ])('is told with what is known: %j', (loading, message) => {
    const error = stillLoading('m', aLoadStatus({ loading }), 60_000)
    expect([error.message, error.status]).toEqual([message, 503])
    expect(error.toBody()).toMatchObject({ error: { code: 'model_loading', param: 'model' }, loading })
  })

  test('says what it waits for', () => {
    const { message } = stillLoading('m', aLoadStatus({ state: 'waiting', reason: 'other has to go first' }), 60_000)
    expect(message).toBe('Model "m" waits to be loaded: other has to go first. Try again in 60 s.')
  })

  test('has all fields of a load also when nothing is known', () => {
    const loading = { ...aLoading({ state: 'waiting', node: null, progress: 0 }), bytes_sent: 0, total_bytes: 0 }
    expect(stillLoading('m', undefined, 1).toBody()['loading']).toEqual({ ...loading, total_files: 0 })
  })
})

describe('a model that will not come by waiting', () => {
  test.each([
    [1_090_000, 90, 'The next attempt is in 2 min.'],
    [1_002_000, 5, 'The next attempt is in 2 s.'],
    [900_000, 5, 'The next attempt is in 1 s.'],
    [9_000_000, 300, 'The next attempt is in 2 h.'],
    [null, 30, 'flotilla why m tells more.'],
  ])('failed, next attempt at %s: come back after %i s', (next, retryAfterS, hint) => {
    const status = aLoadStatus({ state: 'failed', reason: 'no such file', next_attempt_at: next })
    const error = loadFailed('m', status, 1_000_000)
    expect([error.code, error.retryAfterS]).toEqual(['model_load_failed', retryAfterS])
    expect(error.message).toBe(`Model "m" could not be loaded: no such file. ${hint}`)
  })

  test('has no room: what would help is told', () => {
    const error = noCapacity('m', aLoadStatus({ state: 'refused', reason: 'Free 3 GiB on gpu 0 of thor.' }), 0)
    expect([error.code, error.status, error.retryAfterS]).toEqual(['no_capacity', 503, 30])
    expect(error.message).toContain('cannot be loaded now: Free 3 GiB on gpu 0 of thor. flotilla why m')
  })

  test('has no room for good: clients are told not to come back', () => {
    const error = noCapacity(
      'm',
      aLoadStatus({ state: 'refused', reason: 'No node has tier=fast.', is_final: true }),
      0,
    )
    expect([error.retryAfterS, error.isFinal]).toEqual([undefined, true])
    expect(error.message).toContain('cannot be loaded, and waiting does not help: No node has tier=fast.')
  })

  test('cannot be asked for: that is told, and not how far it was', () => {
    const error = controlAway('m', 'nothing is listening', 60_000)
    expect([error.code, error.retryAfterS]).toEqual(['unavailable', 60])
    expect(error.message).toContain('does not answer: nothing is listening. Check that a frontend runs')
    expect(error.toBody()).not.toHaveProperty('loading')
  })
})
