import { startBroker } from './broker/broker.ts'
import { describeBus, onServer, type StartBus } from './bus-suite.ts'
import { describeHostile } from './hostile-suite.ts'

const start: StartBus = async (users, port = 0) => {
  const broker = await startBroker({ host: '127.0.0.1', port, users })
  return { url: broker.url, port: broker.port, stop: () => broker.dispose() }
}
describeBus('the embedded broker', onServer(start))
describeHostile('the embedded broker', start)
