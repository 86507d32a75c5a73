import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../platform/run/clock.ts'
import { until } from '../../../test/support/until.ts'
import { adoptEngine } from './adopt-engine.ts'
import { readIdentity, writeIdentity } from './identity-file.ts'
import { isRunning } from './process-identity.ts'
import { enginesFolder, expectNothingLeft, isAlive } from './testing/left-over.ts'
import { TestWorker } from './testing/test-worker.ts'

const ONE_READ_BYTES = 64 * 1024
const waitForGo = 'until [ -e $TEST_FOLDER/go ]; do sleep 0.02; done'

test('a worker that dies before the engine was written down leaves nothing', async () => {
  const folder = enginesFolder()
  const trace = join(folder, 'it-ran')
  const worker = new TestWorker()
  worker.tell({ do: 'start', ...engine(folder, `echo ran >>${trace}; exec sleep 60`), isHeld: true })
  const { pid } = await worker.heard('spawned')
  expect(isAlive(pid)).toBe(true)
  await worker.kill()
  await expectNothingLeft(folder)
  expect(existsSync(trace)).toBe(false)
  const second = new TestWorker()
  second.tell({ do: 'adopt', folder, name: 'one' })
  await second.heard('missed')
})

test('an engine whose worker died right after starting it runs, and is adopted', async () => {
  const folder = enginesFolder()
  const first = new TestWorker()
  first.tell({ do: 'start', ...engine(folder, 'echo up; exec sleep 60'), thenDie: true })
  await first.ended()
  const second = new TestWorker()
  second.tell({ do: 'adopt', folder, name: 'one' })
  await second.heard('adopted')
  await until(() => [...first.lines('one'), ...second.lines('one')].includes('up'))
  second.tell({ do: 'stop', name: 'one' })
  await second.heard('stopped')
  expect((await second.heard('exited')).exit).toMatchObject({ code: null, signal: null })
  await second.kill()
  await expectNothingLeft(folder)
})

test('a worker killed amid a flood loses nothing but what it had read itself', async () => {
  const folder = enginesFolder()
  const [heardFirst, heardThen] = [join(folder, 'heard-first'), join(folder, 'heard-then')]
  const total = 200_000
  const flood = 'i=0; while [ $i -lt 100 ]; do seq $((i*2000+1)) $((i*2000+2000)); i=$((i+1)); sleep 0.01; done'
  const first = new TestWorker()
  first.tell({ do: 'start', ...engine(folder, `${flood}; echo last; exec sleep 60`), linesTo: heardFirst })
  await until(() => linesIn(heardFirst).length > 0)
  await first.kill()
  const { pid } = await first.heard('spawned')
  // Nobody reads: the engine may have to wait, but is none the worse for it.
  expect(isAlive(pid)).toBe(true)
  const second = new TestWorker()
  second.tell({ do: 'adopt', folder, name: 'one', linesTo: heardThen })
  await until(() => linesIn(heardThen).includes('last'))
  const told = linesIn(heardFirst).map(Number)
  // The first line may be the rest of one that the killed worker had begun to read.
  const toldThen = linesIn(heardThen).slice(1, -1).map(Number)
  expect(told).toEqual(Array.from(told, (_, i) => i + 1))
  expect(toldThen).toEqual(Array.from(toldThen, (_, i) => total - toldThen.length + 1 + i))
  const lost = Array.from({ length: toldThen[0]! - told.length - 1 }, (_, i) => `${told.length + 1 + i}\n`)
  expect(lost.join('').length).toBeLessThanOrEqual(ONE_READ_BYTES + lost[0]!.length)
  second.tell({ do: 'stop', name: 'one' })
  await second.heard('stopped')
  await second.kill()
  await expectNothingLeft(folder)
})

test('an engine is handed on from worker to worker, line by line', async () => {
  const folder = enginesFolder()
  const box = join(folder, 'box')
  writeFileSync(box, '')
  const workers: TestWorker[] = []
  for (const round of [1, 2, 3, 4]) {
    const worker = new TestWorker()
    workers.push(worker)
    if (round === 1) worker.tell({ do: 'start', ...engine(folder, `exec tail -n +1 -f ${box}`) })
    else worker.tell({ do: 'adopt', folder, name: 'one' })
    await worker.heard(round === 1 ? 'started' : 'adopted')
    appendFileSync(box, `while ${round}\n`)
    await until(() => worker.lines('one').includes(`while ${round}`))
    await worker.kill()
    appendFileSync(box, `between ${round}\n`)
  }
  const last = new TestWorker()
  last.tell({ do: 'adopt', folder, name: 'one' })
  await until(() => last.lines('one').includes('between 4'))
  const all = [...workers, last].flatMap((worker) => worker.lines('one'))
  expect(all).toEqual([1, 2, 3, 4].flatMap((round) => [`while ${round}`, `between ${round}`]))
  last.tell({ do: 'stop', name: 'one' })
  await last.heard('stopped')
  await last.kill()
  await expectNothingLeft(folder)
})

test('the end of an adopted engine is noticed, with its last lines and what it left behind', async () => {
  const folder = enginesFolder()
  const first = new TestWorker()
  first.tell({ do: 'start', ...engine(folder, `sleep 600 & setsid sleep 601 & echo up; ${waitForGo}; echo bye`) })
  await until(() => first.lines('one').length > 0)
  await first.kill()
  const second = new TestWorker()
  second.tell({ do: 'adopt', folder, name: 'one' })
  await second.heard('adopted')
  writeFileSync(join(folder, 'go'), '')
  expect((await second.heard('exited')).exit).toEqual({ code: null, signal: null, lastLines: ['bye'] })
  expect(readIdentity(join(folder, 'one'))).toBeUndefined()
  await second.kill()
  await expectNothingLeft(folder)
})

test('an engine that ended meanwhile, and one that only has its number, are not adopted', async () => {
  const folder = enginesFolder()
  const first = new TestWorker()
  first.tell({ do: 'start', ...engine(folder, 'exec sleep 60') })
  await first.heard('started')
  await first.kill()
  const identity = readIdentity(join(folder, 'one'))!
  writeIdentity(join(folder, 'one'), { ...identity, startedAt: '1' })
  const second = new TestWorker()
  second.tell({ do: 'adopt', folder, name: 'one' })
  await second.heard('missed')
  expect(isRunning(identity)).toBe(true)
  process.kill(identity.pid, 'SIGKILL')
  await until(() => !isRunning(identity))
  writeIdentity(join(folder, 'one'), identity)
  const third = new TestWorker()
  third.tell({ do: 'adopt', folder, name: 'one' })
  await third.heard('missed')
})

test.for(['pipes', 'folder', 'pipes, for files,'])(
  'an engine whose %s somebody deleted is adopted with its lines',
  async (what) => {
    const folder = enginesFolder()
    const first = new TestWorker()
    first.tell({ do: 'start', ...engine(folder, `echo before; ${waitForGo}; echo after; exec sleep 60`) })
    await until(() => first.lines('one').length > 0)
    await first.kill()
    const identity = readIdentity(join(folder, 'one'))!
    if (what === 'folder') rmSync(join(folder, 'one'), { recursive: true })
    for (const stream of ['stdout', 'stderr']) {
      rmSync(join(folder, 'one', stream), { force: true })
      if (what.includes('files')) writeFileSync(join(folder, 'one', stream), 'something else\n')
    }
    const lines: string[] = []
    const adopted = adoptEngine(identity, join(folder, 'one'), {
      clock: systemClock,
      onLine: (_, line) => lines.push(line),
    })!
    writeFileSync(join(folder, 'go'), '')
    await until(() => lines.length > 0)
    expect(lines).toEqual(['after'])
    await adopted.stop({ signal: 'SIGTERM', killAfterMs: 5000 })
    await expectNothingLeft(folder)
  },
)

test('a worker that ends takes its engines along, own and adopted, unless it leaves them', async () => {
  const folder = enginesFolder()
  const first = new TestWorker()
  for (const name of ['one', 'two']) {
    first.tell({
      do: 'start',
      ...engine(folder, `trap '' TERM; sleep 600 & setsid sleep 601 & echo up; exec sleep 602`),
      name,
    })
  }
  await until(() => first.lines('one').length > 0 && first.lines('two').length > 0)
  first.tell({ do: 'end', leave: true })
  await first.ended()
  expect(isRunning(readIdentity(join(folder, 'one'))!)).toBe(true)
  const second = new TestWorker()
  second.tell({ do: 'adopt', folder, name: 'one' })
  second.tell({ do: 'adopt', folder, name: 'two' })
  second.tell({ do: 'start', ...engine(folder, 'exec sleep 60'), name: 'three' })
  await second.heard('started')
  second.tell({ do: 'end' })
  await second.ended()
  await expectNothingLeft(folder)
})

function linesIn(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
}

function engine(
  folder: string,
  script: string,
): { folder: string; name: string; argv: string[]; env: NodeJS.ProcessEnv } {
  return { folder, name: 'one', argv: ['sh', '-c', script], env: { TEST_FOLDER: folder } }
}
