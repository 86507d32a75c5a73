import { startBroker } from './broker/broker.ts'
import { describeConformance } from './conformance.ts'

describeConformance('the embedded broker', async (options = {}) => {
  const broker = await startBroker({ host: '127.0.0.1', port: 0, ...options })
  return { ...broker, stop: () => broker.dispose() }
})
