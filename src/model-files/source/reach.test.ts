import { lookup } from 'node:dns'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { AppError } from '../../platform/errors.ts'
import { serve } from '../../../test/support/http/http.ts'
import { httpGet } from './http-get.ts'
import { internetOnly, openReach } from './reach.ts'

vi.mock('node:dns', { spy: true })

/** What the name server says, one answer a question; the last one is said again and again. */
function nameServer(...answers: string[][]): void {
  let asked = 0
  vi.mocked(lookup).mockImplementation(((_name: string, _options: object, callback: (e: null, a: object[]) => void) => {
    const addresses = answers[Math.min(asked, answers.length - 1)]!
    asked += 1
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }) as unknown as typeof lookup)
}

beforeEach(() => void vi.mocked(lookup).mockReset())

const { signal } = new AbortController()
const get = (url: string, reach = internetOnly) => httpGet({ url: new URL(url), reach, signal })
const refused = { code: 'forbidden', message: expect.stringContaining('not an address of the internet') }

describe('SSRF: a source that leads to a network of our own is refused', () => {
  test.each([
    'http://127.0.0.1/x',
    'http://127.1/x',
    'http://0x7f.0.0.1/x',
    'http://2130706433/x',
    'http://0/x',
    'http://10.0.0.1/x',
    'http://172.31.255.255/x',
    'http://192.168.1.1/x',
    'http://100.100.100.200/x',
    'http://169.254.169.254/latest/meta-data',
    'http://[::1]/x',
    'http://[::]/x',
    'http://[::ffff:127.0.0.1]/x',
    'http://[::ffff:a9fe:a9fe]/x',
    'http://[::127.0.0.1]/x',
    'http://[64:ff9b::7f00:1]/x',
    'http://[2002:7f00:1::]/x',
    'http://[fd00:ec2::254]/x',
    'http://[fe80::1]/x',
    'https://192.168.1.1/x',
  ])('%s', async (url) => {
    await expect(get(url)).rejects.toMatchObject(refused)
  })

  test.each([[['127.0.0.1']], [['93.184.215.14', '10.0.0.1']], [['::ffff:192.168.0.1']], [['fd00::1']]])(
    'a name that stands for %s',
    async (addresses) => {
      nameServer(addresses)
      await expect(get('http://models.example/x')).rejects.toMatchObject(refused)
    },
  )

  test('the address is looked at where the connection is made: another answer later on changes nothing (DNS rebinding)', async () => {
    nameServer(['93.184.215.14'], ['127.0.0.1'])
    const asked: unknown[] = []
    internetOnly.lookup('a.example', {}, (_error, address) => void asked.push(address))
    expect(asked).toEqual(['93.184.215.14'])
    // The second question is that of a connection, and its answer is the one that is looked at.
    await expect(get('http://a.example/x')).rejects.toMatchObject(refused)
  })

  test('the refusal says which option allows it', async () => {
    nameServer(['192.168.1.5'])
    await expect(get('http://nas.lan/x.gguf')).rejects.toMatchObject({
      message: expect.stringContaining('nas.lan is at 192.168.1.5'),
    })
    await expect(get('http://nas.lan/x.gguf')).rejects.toThrow('--allow-sources nas.lan')
    await expect(get('http://192.168.1.5/x.gguf')).rejects.toThrow('--allow-sources 192.168.1.5')
  })
})

describe('what is allowed is fetched', () => {
  const reaches = {
    address: ['127.0.0.1'],
    range: ['127.0.0.0/8'],
    'IPv6 range': ['::1/128', '127.0.0.1'],
    everything: ['any'],
  }

  test.each(Object.entries(reaches))('by its %s', async (_, allowed) => {
    const url = await serve((_request, response) => void response.end('here'))
    const { body } = await get(`${url}/x`, openReach(allowed))
    expect(await text(body)).toBe('here')
  })

  test('by its name, whatever that stands for, and no other name for the same', async () => {
    const { port } = new URL(await serve((_request, response) => void response.end('here')))
    nameServer(['127.0.0.1'])
    const reach = openReach(['NAS.lan'])
    expect(await text((await get(`http://nas.lan:${port}/x`, reach)).body)).toBe('here')
    await expect(get(`http://other.lan:${port}/x`, reach)).rejects.toMatchObject(refused)
  })

  test('from who runs the cluster, at any address; but not where that redirects to', async () => {
    const inner = await serve((_request, response) => void response.end('secret'))
    const url = await serve((request, response) => {
      if (request.url === '/x') response.end('here')
      else response.writeHead(302, { location: `${inner}/x` }).end()
    })
    const ours = (path: string) => httpGet({ url: new URL(`${url}${path}`), isOurs: true, signal })
    expect(await text((await ours('/x')).body)).toBe('here')
    await expect(ours('/moved')).rejects.toMatchObject(refused)
  })

  test('a redirect from an allowed host to another is looked at for itself', async () => {
    nameServer(['127.0.0.1'])
    const url = await serve(
      (_request, response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    )
    const reach = openReach(['nas.lan'])
    const answer = get(`http://nas.lan:${new URL(url).port}/x`, reach)
    await expect(answer).rejects.toBeInstanceOf(AppError)
    await expect(answer).rejects.toMatchObject(refused)
  })
})

test('public addresses are let through', () => {
  for (const host of ['8.8.8.8', '[2606:4700::1111]', 'huggingface.co', '172.32.0.1', '11.0.0.1']) {
    expect(() => internetOnly.checkHost(host), host).not.toThrow()
  }
})
