import { startBroker } from '../../src/bus/broker/broker.ts'

/** The embedded broker in a process of its own, as nats-server is. */
const broker = await startBroker({ host: '127.0.0.1', port: 0 })
process.send?.({ ready: true, url: broker.url })
process.once('disconnect', () => void broker.dispose())
