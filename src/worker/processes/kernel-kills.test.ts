import { expect, test } from 'vitest'
import { kernelKills } from './kernel-kills.ts'

function reading(files: Record<string, string>): (path: string) => string {
  return (path) => {
    const text = files[path]
    if (text === undefined) throw new Error('ENOENT')
    return text
  }
}

const machine = { '/proc/vmstat': 'pgfault 1\noom_kill 3\n' }

test('counts those of our own control group', () => {
  const path = '/sys/fs/cgroup/system.slice/flotilla.service/memory.events'
  const files = {
    ...machine,
    '/proc/self/cgroup': '0::/system.slice/flotilla.service\n',
    [path]: 'oom 9\noom_kill 7\n',
  }
  expect(kernelKills(reading(files))).toBe(7)
})

test('in a container the group is found at the mount, whatever the path says', () => {
  const files = {
    ...machine,
    '/proc/self/cgroup': '0::/docker/abc\n',
    '/sys/fs/cgroup/memory.events': 'oom_kill 2\noom_group_kill 0\n',
  }
  expect(kernelKills(reading(files))).toBe(2)
})

test('control groups of the first kind have it elsewhere', () => {
  const files = {
    ...machine,
    '/proc/self/cgroup': '5:cpu,memory:/a\n4:pids:/b\n0::/\n',
    '/sys/fs/cgroup/memory/a/memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 4\n',
  }
  expect(kernelKills(reading(files))).toBe(4)
})

test('without a group that counts, those of the machine', () => {
  expect(kernelKills(reading({ ...machine, '/proc/self/cgroup': '0::/\n' }))).toBe(3)
})

test('a system that does not count says nothing', () => {
  expect(kernelKills(reading({ '/proc/vmstat': 'pgfault 1\n' }))).toBeUndefined()
})
