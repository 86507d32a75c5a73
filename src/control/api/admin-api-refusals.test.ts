import { describe, expect, test } from 'vitest'
import { sharedStage } from '../../../test/support/control/admin-stage.ts'

const node = '/api/nodes/THOR'
const install = { engine: 'vllm', command: ['true'] }
const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`k${i}`, 'v']))

describe('what makes no sense is refused, and nothing changes', () => {
  const shared = sharedStage()

  test.each<[string, string, string, unknown, number, string]>([
    ['an unknown path', 'GET', '/api/nothing', undefined, 404, 'nothing at /api/nothing'],
    ['another method', 'PUT', '/api/models', {}, 405, 'It takes: GET, POST'],
    ['no JSON', 'POST', '/api/models', '{', 400, 'not valid JSON'],
    ['no body', 'POST', '/api/models', undefined, 400, 'body is empty'],
    ['a body that is too large', 'POST', '/api/models', 'x'.repeat(1_100_000), 413, 'larger than the limit'],
    ['a missing field', 'POST', '/api/models', { name: 'm' }, 400, 'engine: '],
    ['an unknown field', 'POST', '/api/models', { name: 'm', engine: 'sim', colour: 1 }, 400, 'colour'],
    ['an empty name', 'POST', '/api/models', { name: '', engine: 'sim' }, 400, 'name: must not be empty'],
    ['a name with a line break', 'POST', '/api/models', { name: 'a\nb', engine: 'sim' }, 400, 'control characters'],
    ['a negative count', 'POST', '/api/nodes/scheduling', { model_name: 'm', min_replicas: -1 }, 400, 'min_replicas: '],
    [
      'a maximum below the minimum',
      'POST',
      '/api/nodes/scheduling',
      { model_name: 'm', min_replicas: 3, max_replicas: 2 },
      400,
      'max_replicas: must be 0',
    ],
    [
      'a label that is no text',
      'POST',
      '/api/nodes/scheduling',
      { model_name: 'm', node_selector: { tier: 1 } },
      400,
      'node_selector.tier: ',
    ],
    [
      'a label that no node can have',
      'POST',
      '/api/nodes/scheduling',
      { model_name: 'm', node_selector: { tier: 'a\nb' } },
      400,
      'node_selector: label "tier": no control characters',
    ],
    ['101 labels to look for', 'POST', '/api/nodes/scheduling', { model_name: 'm', node_selector: many }, 400, '100'],
    [
      'a policy of no known kind',
      'POST',
      '/api/nodes/scheduling',
      { model_name: 'm', route_policy: 'random' },
      400,
      'route_policy: ',
    ],
    ['approving twice', 'POST', `${node}/approve`, undefined, 409, 'thor is approved already'],
    ['labels that are no text', 'PUT', `${node}/labels`, { a: 1 }, 400, 'a: '],
    ['a label without a key', 'PUT', `${node}/labels`, { '': 'x' }, 400, 'needs a key'],
    ['a label with a long key', 'PUT', `${node}/labels`, { ['k'.repeat(101)]: 'x' }, 400, '100 characters'],
    ['a label with a long value', 'PATCH', `${node}/labels`, { k: 'v'.repeat(201) }, 400, '200 characters'],
    ['101 labels', 'PUT', `${node}/labels`, many, 400, '100 labels'],
    ['101 labels in the end', 'PATCH', `${node}/labels`, omit(many, 'k0'), 400, '100 labels'],
    [
      'setting the label of the slots',
      'PUT',
      `${node}/labels`,
      { 'node.replica-slots': '4' },
      400,
      'max_replicas_per_model',
    ],
    [
      'removing the label of the slots',
      'DELETE',
      `${node}/labels/node.replica-slots`,
      undefined,
      400,
      'max_replicas_per_model',
    ],
    [
      'removing it another way',
      'PATCH',
      `${node}/labels`,
      { 'node.replica-slots': null },
      400,
      'max_replicas_per_model',
    ],
    ["removing a worker's label", 'DELETE', `${node}/labels/rack`, undefined, 409, 'its worker declares it'],
    ['removing an automatic label', 'DELETE', `${node}/labels/node.name`, undefined, 409, 'follows from the machine'],
    ['removing one by PATCH', 'PATCH', `${node}/labels`, { rack: null }, 409, 'its worker declares it'],
    ['no slots', 'PUT', `${node}/max-replicas-per-model`, { value: 0 }, 400, 'value: must be at least 1'],
    ['half a slot', 'PUT', `${node}/max-replicas-per-model`, { value: 1.5 }, 400, 'value: '],
    ['slots as text', 'PUT', `${node}/max-replicas-per-model`, { value: '2' }, 400, 'value: '],
    ['slots without a value', 'PUT', `${node}/max-replicas-per-model`, {}, 400, 'value: '],
    [
      'a budget of everything and more',
      'PUT',
      `${node}/vram-budget`,
      { value: '101%' },
      400,
      'expected a share such as 80%',
    ],
    ['a budget of nothing', 'PUT', `${node}/vram-budget`, { value: 0 }, 400, 'value: '],
    ['a budget in words', 'PUT', `${node}/vram-budget`, { value: 'much' }, 400, '"much" is no budget'],
    ['a token without uses', 'POST', '/api/tokens', { max_uses: 0 }, 400, 'max_uses: '],
    ['a token that has ended', 'POST', '/api/tokens', { expires_in_s: 0 }, 400, 'expires_in_s: '],
    [
      'a source of no known kind',
      'POST',
      '/api/models',
      { name: 'm', engine: 'sim', source: 'ftp://x/y' },
      400,
      'source: ',
    ],
    [
      'an empty source',
      'POST',
      '/api/models',
      { name: 'm', engine: 'sim', source: 'hf:' },
      400,
      'source: must begin with',
    ],
    ['another name than in the path', 'PUT', '/api/models/m', { name: 'x', engine: 'sim' }, 400, 'leave it out'],
    ['a name in a path that is none', 'PUT', '/api/models/a%0Ab', { engine: 'sim' }, 400, 'name: must not contain'],
    [
      'memory in words',
      'POST',
      '/api/models',
      { name: 'm', engine: 'sim', memory: { vram: 'much' } },
      400,
      'memory.vram: "much" is no size: expected text such as "12GiB"',
    ],
    [
      'less than no memory',
      'PUT',
      '/api/models/m',
      { engine: 'sim', memory: { ram: -1 } },
      400,
      'memory.ram: Too small',
    ],
    ['memory of no known kind', 'PUT', '/api/models/m', { engine: 'sim', memory: { disk: 1 } }, 400, 'disk'],
    ['no name to keep apart by', 'PUT', '/api/models/m', { engine: 'sim', anti_affinity: '' }, 400, 'anti_affinity: '],
    ['unloading nothing', 'POST', `${node}/models/unload`, {}, 400, 'model_name: '],
    [
      'unloading half a replica',
      'POST',
      `${node}/models/unload`,
      { model_name: 'm', replica_index: 0.5 },
      400,
      'index: ',
    ],
    ['installing nothing', 'POST', `${node}/backends/install`, { engine: '' }, 400, 'engine: '],
    [
      'installing in two ways',
      'POST',
      `${node}/backends/install`,
      { ...install, archive: { url: 'https://x/y.tar.gz', sha256: '0'.repeat(64) } },
      400,
      'an archive or a command, not both',
    ],
    [
      'an archive without a digest',
      'POST',
      `${node}/backends/upgrade`,
      { engine: 'vllm', archive: { url: 'https://x/y.tar.gz', sha256: 'abc' } },
      400,
      'archive.sha256: must be 64',
    ],
    ['logs after nothing', 'GET', `${node}/backend-logs/m?after=x`, undefined, 400, 'after: '],
    ['no lines of a log', 'GET', `${node}/backend-logs/m?limit=0`, undefined, 400, 'limit: '],
    ['logs of no stream', 'GET', `${node}/backend-logs/m?stream=stdin`, undefined, 400, 'stream: '],
    ['logs of the past', 'GET', `${node}/backend-logs/m?before=1`, undefined, 400, 'before'],
    ['events after nothing', 'GET', '/api/events?after=x', undefined, 400, 'after: the number of an event'],
  ])('%s', async (_, method, path, body, status, message) => {
    const { scene, thor } = shared()
    const changes = scene.asked.changes
    const before = await scene.node(thor)
    const answer = await scene.admin<{ error: { message: string } }>(method, path.replace('THOR', thor.nodeId), body)
    expect(answer.status).toBe(status)
    expect(answer.body.error.message).toContain(message)
    expect(scene.asked.changes).toBe(changes)
    expect(await scene.node(thor)).toEqual(before)
  })
})

function omit(labels: Record<string, string>, key: string): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => name !== key))
}
