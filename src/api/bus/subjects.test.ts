import { describe, expect, test } from 'vitest'
import { inboxPrefix, permissionsFor, subjectOf, subjects, type BusRole, type SubjectName } from './subjects.ts'

const roles: BusRole[] = ['control', 'gateway', 'node']
const names = Object.keys(subjects) as SubjectName[]

const hears = (name: SubjectName, role: BusRole): boolean => (subjects[name].to as readonly BusRole[]).includes(role)

describe('permissions follow from the subject table, in both directions', () => {
  test.each(roles)('%s may publish exactly what the table says it publishes', (role) => {
    const says = names.filter((name) => (subjects[name].from as readonly BusRole[]).includes(role))
    const nodeId = role === 'node' ? 'id1' : '*'
    expect(permissionsFor(role, 'id1').publish.toSorted()).toEqual(
      says.map((name) => subjectOf(name, nodeId)).toSorted(),
    )
  })

  test.each(roles)('%s may hear exactly what the table says it hears, and its own inbox', (role) => {
    const hears = names.filter((name) => (subjects[name].to as readonly BusRole[]).includes(role))
    const nodeId = role === 'node' ? 'id1' : '*'
    const expected = [...hears.map((name) => subjectOf(name, nodeId)), `${inboxPrefix(role, 'id1')}.>`]
    expect(permissionsFor(role, 'id1').subscribe.toSorted()).toEqual(expected.toSorted())
  })

  test('a node is confined to its own subjects', () => {
    const { publish, subscribe } = permissionsFor('node', 'id1')
    for (const subject of [...publish, ...subscribe]) expect(subject).toContain('id1')
  })

  test('only roles that hear requests may answer', () => {
    for (const role of roles) {
      const isAsked = names.some((name) => subjects[name].kind === 'request' && hears(name, role))
      expect(permissionsFor(role, 'x').respond, role).toBe(isAsked)
    }
  })

  test('every subject has a role that sends it and one that hears it', () => {
    for (const name of names) {
      expect(subjects[name].from.length, name).toBeGreaterThan(0)
      expect(subjects[name].to.length, name).toBeGreaterThan(0)
    }
  })
})
