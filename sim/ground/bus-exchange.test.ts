import { onTestFinished } from 'vitest'
import { describeBus, roleOf, type BusScene } from '../../src/bus/bus-suite.ts'
import { EventQueue } from '../event-queue.ts'
import { Random } from '../random.ts'
import { BusExchange } from './bus-exchange.ts'
import { Network } from './network.ts'
import { inRealTime } from './real-time.ts'
import { SimProcess } from './sim-process.ts'

async function simulated(): Promise<BusScene> {
  const queue = new EventQueue()
  onTestFinished(inRealTime(queue))
  const exchange = new BusExchange(queue, new Network(queue, new Random(1)), () => {})
  return {
    join: async (client) => exchange.connect(new SimProcess(client, roleOf(client), queue), client),
    async goAway() {
      exchange.goDown()
      return async () => exchange.comeUp(new Random(2))
    },
  }
}

describeBus('the simulated exchange', simulated)
