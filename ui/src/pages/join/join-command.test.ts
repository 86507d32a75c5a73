import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { tempFolder } from '../../../../test/support/temp-folder.ts'
import { addressProblem, isLoopbackAddress, joinCommands } from './join-command.ts'

describe('the commands', () => {
  const { direct, withFile } = joinCommands('http://first:8080/', 'flj_abc')

  test('name the frontend, and no argument of a program holds the token', () => {
    expect(direct).toBe('FLOTILLA_TOKEN=flj_abc flotilla worker --join http://first:8080')
    expect(withFile).toContain('flotilla worker --join http://first:8080 --token-file join.token')
  })

  test('name the certificate of a frontend for which nobody else vouches', () => {
    const known = joinCommands('https://first:8080', 'flj_abc', 'sha256:ab')
    expect(known.direct).toBe(
      'FLOTILLA_TOKEN=flj_abc flotilla worker --join https://first:8080 --fingerprint sha256:ab',
    )
    // A proxy in front of it has another, if any.
    expect(joinCommands('http://first:8080', 'flj_abc', 'sha256:ab').direct).not.toContain('fingerprint')
  })

  test('put the token into a file that only its owner can read', () => {
    const folder = tempFolder()
    execFileSync('/bin/sh', ['-c', withFile.split('\n')[0]!], { cwd: folder })
    expect(readFileSync(join(folder, 'join.token'), 'utf8')).toBe('flj_abc\n')
    expect(statSync(join(folder, 'join.token')).mode & 0o777).toBe(0o600)
  })
})

test.each(['http://first:8080', 'https://fleet.example.com', 'http://[::1]:8080/', 'http://10.0.0.1'])(
  '%s can be an address',
  (address) => {
    expect(addressProblem(address)).toBeUndefined()
  },
)

test.each([
  '',
  'first:8080',
  'ftp://first',
  'http://a b',
  'http://x;reboot',
  'http://u:p@x',
  'http://$(id)',
  'http://x/y',
])('%j cannot: it would be pasted into a shell, or lead nowhere', (address) => {
  expect(addressProblem(address)).toBeDefined()
})

test('addresses that lead every machine to itself are known', () => {
  const addresses = [
    'http://127.0.0.1:8080',
    'http://localhost',
    'http://[::1]:80',
    'http://127.1.2.3',
    'http://a.localhost',
  ]
  expect(addresses.filter((address) => !isLoopbackAddress(address))).toEqual([])
  expect(['http://10.0.0.1', 'http://first', 'http://127.example.com'].filter(isLoopbackAddress)).toEqual([])
})
