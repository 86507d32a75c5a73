import { startBroker } from './broker/broker.ts'
import { describeBus } from './bus-suite.ts'

describeBus('the embedded broker', async (users, port = 0) => {
  const broker = await startBroker({ host: '127.0.0.1', port, users })
  return { url: broker.url, port: broker.port, stop: () => broker.dispose() }
})
