import { describe, expect, test } from 'vitest'
import { aCluster, flotilla, refused, type Answers } from '../../../test/support/cli/cli.ts'
import { startCommand } from '../../../test/support/cli/cli-running.ts'
import { aLoading, aLoadStatus, aModelView } from '../../../test/support/cli/cli-views.ts'
import { until } from '../../../test/support/until.ts'

const LOAD = 'POST /api/models/qwen/load'
const STATUS = 'GET /api/models/qwen/load-status'
const staging = aLoadStatus({ state: 'loading', loading: aLoading({ eta_seconds: 42, total_files: 3 }) })
const ready = aLoadStatus()
const waiting = aLoadStatus({
  state: 'waiting',
  loading: aLoading({ state: 'waiting', node: null }),
  reason: 'It waits for room on gpu-1: big#0 must have ended first.',
})
const refusal = aLoadStatus({ state: 'refused', reason: 'No node can take it: gpu-1 has 3.0 GiB free.' })

/** Answers one after the other, the last one for ever. */
function inTurn(...answers: unknown[]): () => unknown {
  return () => (answers.length > 1 ? answers.shift() : answers[0])
}

async function run(args: string[], answers: Answers) {
  const cluster = await aCluster({ 'GET /api/models': [aModelView()], ...answers })
  const said = await flotilla(['models', 'load', ...args, '--data', cluster.data])
  return { ...said, calls: cluster.calls, data: cluster.data }
}

describe('flotilla models load', () => {
  test('asks for it and tells how far it is', async () => {
    const { code, stdout, calls, data } = await run(['qwen'], { [LOAD]: staging })
    expect(calls).toEqual(['GET /api/models', LOAD])
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout:
        'qwen: staging on gpu-1, 43 % of 4.1 GiB, file 1 of 3, about 42s left\n' +
        `flotilla models load qwen --wait --data ${data} shows when it is ready.\n`,
    })
  })

  test('what it waits for is told', async () => {
    const { code, stdout } = await run(['qwen'], { [LOAD]: waiting })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^qwen: It waits for room on gpu-1: big#0 must have ended first\.\n/)
  })

  test('a model that is there already', async () => {
    expect(await run(['qwen', '--wait'], { [LOAD]: ready })).toMatchObject({ code: 0, stdout: 'qwen is ready.\n' })
  })

  test('with --wait every tenth and every phase is told once, until it is ready', async () => {
    const at = (progress: number) => aLoadStatus({ state: 'loading', loading: aLoading({ progress, eta_seconds: 9 }) })
    const { code, stdout, stderr } = await run(['qwen', '--wait'], {
      [LOAD]: waiting,
      [STATUS]: inTurn(at(41), at(43), at(50), at(58), ready),
    })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'qwen is ready.\n' })
    expect(stderr).toBe(
      'qwen: It waits for room on gpu-1: big#0 must have ended first.\n' +
        'qwen: staging on gpu-1, 40 % of 4.1 GiB\n' +
        'qwen: staging on gpu-1, 50 % of 4.1 GiB\n',
    )
  })

  test('a failure ends the waiting with its cause, and says when it is tried again', async () => {
    const failed = aLoadStatus({
      state: 'failed',
      reason: 'It could not be started on gpu-1: CUDA out of memory.\u001B[2J "flotilla logs qwen#0" shows more.',
      next_attempt_at: Date.now() + 25_000,
    })
    const { code, stdout } = await run(['qwen', '--wait'], { [LOAD]: staging, [STATUS]: failed })
    expect(code).toBe(1)
    expect(stdout).toContain('qwen was not loaded: It could not be started on gpu-1: CUDA out of memory.')
    expect(stdout).toMatch(/\nIt is tried again in 2\ds\.\nflotilla why qwen .* tells more\.\n$/)
    expect(stdout).not.toContain('\u001B')
  })

  test('a refusal that passes is none, one that lasts is', async () => {
    const passing = await run(['qwen', '--wait'], { [LOAD]: refusal, [STATUS]: inTurn(refusal, staging, ready) })
    expect(passing).toMatchObject({ code: 0, stdout: 'qwen is ready.\n' })
    const lasting = await run(['qwen', '--wait'], { [LOAD]: refusal, [STATUS]: refusal })
    expect(lasting.code).toBe(1)
    expect(lasting.stdout).toContain('qwen cannot be loaded: No node can take it: gpu-1 has 3.0 GiB free.\n')
    expect(lasting.calls.filter((call) => call === STATUS)).toHaveLength(4)
    expect((await run(['qwen'], { [LOAD]: refusal })).code).toBe(1)
  })

  test('somebody takes it back meanwhile', async () => {
    const { code, stdout } = await run(['qwen', '--wait'], {
      [LOAD]: staging,
      [STATUS]: aLoadStatus({ state: 'stopped', reason: 'Nobody asks for it: its first request loads it.' }),
    })
    expect(code).toBe(1)
    expect(stdout).toContain('qwen is not loaded: Nobody asks for it: its first request loads it.\n')
  })

  test('a frontend that is away for a moment is asked again; one that stays away is given up', async () => {
    const away = refused(503, 'unavailable', 'The store is away.')
    const passing = await run(['qwen', '--wait'], { [LOAD]: staging, [STATUS]: inTurn(away, away, ready) })
    expect(passing.code).toBe(0)
    const lasting = await run(['qwen', '--wait'], { [LOAD]: staging, [STATUS]: away })
    expect(lasting).toMatchObject({ code: 1, stdout: '' })
    expect(lasting.stderr).toContain('The store is away.\n')
  })

  test('Ctrl-C ends the waiting and not the load', async () => {
    const cluster = await aCluster({ 'GET /api/models': [aModelView()], [LOAD]: staging, [STATUS]: staging })
    const command = startCommand(['models', 'load', 'qwen', '--wait', '--data', cluster.data])
    await until(() => cluster.calls.includes(STATUS))
    command.interrupt()
    expect((await command.ended).code).toBe(130)
    expect(command.said.stderr).toContain('No longer waiting; the load goes on. flotilla why qwen')
    expect(command.said.stdout).toBe('')
  })

  test('--json prints the last word of the API', async () => {
    const { stdout, stderr } = await run(['qwen', '--wait', '--json'], { [LOAD]: staging, [STATUS]: ready })
    expect(JSON.parse(stdout)).toEqual(ready)
    expect(stderr).toBe('')
  })

  test('a slip in the name', async () => {
    expect(await run(['qwne'], {})).toMatchObject({ code: 1, stderr: 'There is no model "qwne". Did you mean qwen?\n' })
  })
})
