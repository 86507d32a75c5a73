import { startNatsServer } from '../testing/nats-server.ts'
import { describeBus } from './bus-suite.ts'

describeBus('nats-server', (users, port = 0) => startNatsServer({ users, port }))
