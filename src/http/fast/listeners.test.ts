import { expect, test } from 'vitest'
import { Listeners } from './listeners.ts'

class Told extends Listeners<{ said: [string]; over: [] }> {}

test('all listeners are called in order, and a `once` listener only once', () => {
  const told = new Told()
  const heard: string[] = []
  told.on('said', (text) => void heard.push(`a ${text}`))
  told.once('said', (text) => void heard.push(`b ${text}`))
  told.once('over', () => void heard.push('over'))
  told.emit('said', '1')
  told.emit('said', '2')
  told.emit('over')
  told.emit('over')
  expect(heard).toEqual(['a 1', 'b 1', 'a 2', 'over'])
})

test('a listener added during an event gets the next one, and a removed one still gets this one', () => {
  const told = new Told()
  const heard: string[] = []
  const second = (): void => void heard.push('second')
  told.once('over', () => {
    told.off('over', second)
    told.on('over', () => void heard.push('third'))
  })
  told.on('over', second)
  told.emit('over')
  expect(heard).toEqual(['second'])
  told.emit('over')
  expect(heard).toEqual(['second', 'third'])
})

test('to stop what was never begun does nothing', () => {
  const told = new Told()
  told.off('over', () => {})
  expect(() => told.emit('over')).not.toThrow()
})
