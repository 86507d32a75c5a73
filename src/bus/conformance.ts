import { describe } from 'vitest'
import { faultCases } from './conformance/faults.ts'
import { limitCases } from './conformance/limits.ts'
import { messagingCases } from './conformance/messaging.ts'
import { protocolCases } from './conformance/protocol.ts'
import type { StartServer } from './conformance/scene.ts'
import { securityCases } from './conformance/security.ts'

/**
 * What Flotilla relies on in a NATS server, as cases that the embedded broker and a real nats-server both pass: with
 * the nats.js client where a program would use it, and with raw sockets where the exact bytes matter.
 */
export function describeConformance(name: string, startServer: StartServer): void {
  describe(`${name} conforms`, () => {
    describe('messaging', () => {
      messagingCases(startServer)
    })
    describe('protocol', () => {
      protocolCases(startServer)
    })
    describe('security', () => {
      securityCases(startServer)
    })
    describe('limits', () => {
      limitCases(startServer)
    })
    describe('faults', () => {
      faultCases(startServer)
    })
  })
}
