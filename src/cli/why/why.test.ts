import { describe, expect, test } from 'vitest'
import { aCluster, flotilla, refused } from '../../../test/support/cli/cli.ts'
import { aModelView } from '../../../test/support/cli/cli-views.ts'
import { aCandidate, aDecision } from '../../../test/support/gateway/decision.ts'

const GIB = 2 ** 30

async function run(args: string[], answer: unknown) {
  const cluster = await aCluster({ 'GET /api/requests/req-1': answer, 'GET /api/models': [aModelView()] })
  return { ...(await flotilla(['why', ...args, '--data', cluster.data])), calls: cluster.calls }
}

describe('flotilla why, of a request', () => {
  test('tells what was asked, who could have served it and who was tried', async () => {
    const at = Date.now() - 185_000
    const decision = aDecision({
      at,
      key_id: 'key-7',
      queued_ms: 40,
      load_wait_ms: 31_500,
      candidates: [
        aCandidate({ left_out: 'unreachable a moment ago', idle_ms: 12 }),
        aCandidate({ replica_id: 'r2', node_name: 'gpu-2', in_flight_here: 2, in_flight_elsewhere: 1, idle_ms: 1500 }),
        aCandidate({ replica_id: 'r3', node_name: 'gpu-3', available_vram: 18.25 * GIB, idle_ms: 400_000 }),
      ],
      candidate_count: 9,
      tries: [
        {
          replica_id: 'r1',
          node_name: 'gpu-1',
          outcome: 'unreachable',
          status: null,
          error: 'connect ECONNREFUSED',
          ms: 3,
        },
        { replica_id: 'r2', node_name: 'gpu-2', outcome: 'served', status: 200, error: null, ms: 1200 },
      ],
    })
    const { code, stdout, calls } = await run(['req-1'], decision)
    expect({ code, calls }).toEqual({ code: 0, calls: ['GET /api/models/req-1/explain', 'GET /api/requests/req-1'] })
    expect(stdout).toBe(
      `Request req-1
  When       3m ago, at ${new Date(at).toISOString()}
  Asked      POST /v1/chat/completions, of the gateway gateway-1
  Model      qwen
  Policy     least_loaded: the fewest requests in flight, then unused for
             longest, then most free VRAM
  Key        key-7
  Load       waited 31.5 s for the model to be loaded
  Queue      waited 40 ms
  Answer     200 after 1.2 s

Candidates, with their requests in flight
  NODE   REPLICA  HERE  ELSEWHERE   IDLE      VRAM  LEFT OUT
  gpu-1  r1          0          0  12 ms         -  unreachable a moment ago
  gpu-2  r2          2          1  1.5 s         -  -
  gpu-3  r3          0          0     6m  18.3 GiB  -
  and 6 more

Tries, in order
  NODE   REPLICA  OUTCOME      STATUS   TIME
  gpu-1  r1       unreachable       -   3 ms
    connect ECONNREFUSED
  gpu-2  r2       served          200  1.2 s
`,
    )
  })

  test('a request that found nobody says so', async () => {
    const nobody = { model: null, policy: null, candidates: [], candidate_count: 0, tries: [], status: 404 }
    const { stdout } = await run(['req-1'], aDecision(nobody))
    expect(stdout).toContain('  Model      none was named\n  Key        none was needed\n  Answer     404')
    expect(stdout).toMatch(/\n\nNo replica could have served it\.\n\nNone was tried\.\n$/)
  })

  test('fits 80 columns with ids as they are, and what others wrote moves no cursor', async () => {
    const replica = '0198c7a0-1111-7000-8000-000000000001'
    const node = `node-${'x'.repeat(30)}\u001B[2J`
    const decision = aDecision({
      candidates: [aCandidate({ replica_id: replica, node_name: node, left_out: 'left out '.repeat(9) })],
      tries: [
        {
          replica_id: replica,
          node_name: node,
          outcome: 'client gone',
          status: null,
          error: `${'a'.repeat(99)}\u0007`,
          ms: 99_000,
        },
      ],
    })
    const { stdout } = await run(['req-1'], decision)
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
    // oxlint-disable-next-line no-control-regex
    expect(stdout).not.toMatch(/[\u0007\u001B]/)
    expect(stdout).toContain('client gone')
  })

  test("--json prints the API's JSON", async () => {
    const decision = { ...aDecision(), later: 1 }
    expect(JSON.parse((await run(['req-1', '--json'], decision)).stdout)).toEqual(decision)
  })

  test('what no gateway remembers is told in the words of the API', async () => {
    const { code, stderr } = await run(['req-1'], refused(404, 'not_found', 'No gateway remembers it.'))
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'No gateway remembers it. There is no model of that name either.\n',
    })
    expect((await flotilla(['why'])).code).toBe(2)
  })
})
