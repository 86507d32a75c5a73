import { expect, test } from 'vitest'
import { AppError } from './errors.ts'
import { askInCommon, refuseProtocol, type Spoken } from './peer-versions.ts'

/** A frontend that speaks these, and the protocols it was asked in. */
function aFrontend(theirs: Spoken) {
  const asked: number[] = []
  const ask = async (protocol: number): Promise<string> => {
    asked.push(protocol)
    if (protocol < theirs.oldest || protocol > theirs.newest) throw refuseProtocol('worker', protocol, theirs)
    return `in ${protocol}`
  }
  return { ask, asked }
}

test.each([
  ['the same release', { oldest: 2, newest: 3 }, [3]],
  ['the release before', { oldest: 1, newest: 2 }, [3, 2]],
  ['the next release', { oldest: 3, newest: 4 }, [3]],
])('somebody who speaks 2 and 3 is understood by a frontend of %s', async (_, theirs, asked) => {
  const frontend = aFrontend(theirs)
  expect(await askInCommon(frontend.ask, { oldest: 2, newest: 3 })).toBe(`in ${asked.at(-1)}`)
  expect(frontend.asked).toEqual(asked)
})

test.each([
  [{ oldest: 4, newest: 5 }, 'The worker speaks protocol 3, this frontend 4 to 5. Update the worker.'],
  [{ oldest: 1, newest: 1 }, 'The worker speaks protocol 3, this frontend 1. Update the frontend.'],
])('with nothing in common it is said who has to be updated', async (theirs, message) => {
  const frontend = aFrontend(theirs)
  await expect(askInCommon(frontend.ask, { oldest: 2, newest: 3 })).rejects.toThrow(message)
  expect(frontend.asked).toEqual([3])
})

test('another refusal is the last word, also one that claims something strange', async () => {
  for (const details of [{}, { speaks: 'french' }, { speaks: { oldest: 2 } }]) {
    const asked: number[] = []
    const ask = async (protocol: number): Promise<never> => {
      asked.push(protocol)
      throw new AppError('forbidden', 'No.', { details })
    }
    await expect(askInCommon(ask, { oldest: 2, newest: 3 })).rejects.toThrow('No.')
    expect(asked).toEqual([3])
  }
})
