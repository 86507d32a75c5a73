import { startNatsServer } from '../../test/support/bus/nats-server.ts'
import { describeConformance } from './conformance.ts'

describeConformance('nats-server', startNatsServer)
