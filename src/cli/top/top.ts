import { sleep } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import { show, viewOf, type Act, type Client } from '../client.ts'
import type { Screen } from '../terminal/screen.ts'
import { LivePicture } from './live-picture.ts'
import { renderTop } from './render-top.ts'
import { readSort, sortAfter, type Sort } from './sort.ts'

const RETRY_MS = 2000
/** Printed, there is no screen to fit. */
const ENDLESS = Number.POSITIVE_INFINITY
const QUIT = new Set(['q', 'Q', '\u0003', '\u001B'])

export const top: Act = async (client, { own }) => {
  const sort = readSort(own.get('sort'))
  const { terminal, json } = client
  const isLive = terminal.screen && terminal.interactive && terminal.openScreen !== undefined
  if (!isLive || json || own.has('once')) return printOnce(client, sort)
  return watch(client, sort)
}

async function printOnce(client: Client, sort: Sort): Promise<number> {
  const over = new AbortController()
  const picture = new LivePicture()
  try {
    for await (const { data } of await client.api.follow('watchCluster', {}, over.signal)) {
      picture.take(data)
      break
    }
  } finally {
    over.abort()
  }
  const { at, nodes, models, replicas, problems, traffic } = picture
  const lists = { nodes: [...nodes.values()], models: [...models.values()], replicas: [...replicas.values()] }
  return show(client, { at, ...lists, problems, traffic: traffic ?? null }, () =>
    renderTop({ picture, sort, rows: ENDLESS, footer: '' }, viewOf(client)),
  )
}

/** Runs until a key ends it; if the frontend goes away it retries, with the last picture on the screen. */
async function watch(client: Client, first: Sort): Promise<number> {
  const over = new AbortController()
  const picture = new LivePicture()
  let sort = first
  let problem = ''
  const draw = (): void => {
    const keys = `q quit   s sort (now: ${sort.by}${sort.isTurned ? ', turned' : ''})   r turn around`
    const footer = problem === '' ? keys : `${problem} Trying again; q quits.`
    const frame = { picture, sort, rows: screen.rows(), footer }
    screen.draw(renderTop(frame, { ...viewOf(client), width: screen.columns() }).slice(0, screen.rows()))
  }
  const screen: Screen = client.terminal.openScreen!((key) => {
    if (QUIT.has(key)) return over.abort()
    sort = sortAfter(sort, key) ?? sort
    draw()
  }, draw)
  try {
    while (!over.signal.aborted) {
      try {
        for await (const { data } of await client.api.follow('watchCluster', {}, over.signal)) {
          problem = ''
          picture.take(data)
          draw()
        }
      } catch (error) {
        // A refused key will still be refused in two seconds.
        if (!(error instanceof AppError) || error.code === 'unauthorized' || error.code === 'forbidden') throw error
        problem = error.message
      }
      if (over.signal.aborted) break
      draw()
      await sleep(client.clock, RETRY_MS, over.signal)
    }
  } catch (error) {
    if (!over.signal.aborted) throw error
  } finally {
    screen.close()
  }
  return 0
}
