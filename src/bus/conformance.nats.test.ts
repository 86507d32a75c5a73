import { startNatsServer } from '../testing/nats-server.ts'
import { describeConformance } from './conformance.ts'

describeConformance('nats-server', startNatsServer)
