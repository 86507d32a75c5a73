import { startNatsServer } from '../../test/support/bus/nats-server.ts'
import { describeBus, onServer, type StartBus } from './bus-suite.ts'
import { describeHostile } from './hostile-suite.ts'

const start: StartBus = (users, port = 0) => startNatsServer({ users, port })
describeBus('nats-server', onServer(start))
describeHostile('nats-server', start)
