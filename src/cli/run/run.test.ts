import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { AppError } from '../../platform/errors.ts'
import { readBody, sendJson } from '../../http/server.ts'
import { systemClock } from '../../platform/run/clock.ts'
import { runCommand } from '../../../test/support/cli/cli-command.ts'
import { aReplicaView, refused } from '../../../test/support/cli/cli.ts'
import { aDecision } from '../../../test/support/gateway/decision.ts'
import { serve } from '../../../test/support/http/http.ts'
import { until } from '../../../test/support/until.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface Body {
  messages: { role: string; content: string }[]
  stream: boolean
}
type Reply = (response: ServerResponse, body: Body) => void | Promise<void>

/** A gateway that answers chats as told, one after another, the last for ever. */
async function aGateway(...replies: Reply[]) {
  const bodies: Body[] = []
  const headers: unknown[] = []
  const url = await serve(async (request, response) => {
    if (request.url === '/v1/models') return sendJson(response, 200, { data: [{ id: 'skipper' }] })
    if (request.url === '/api/requests/req-1') return sendJson(response, 200, aDecision({ request_id: 'req-1' }))
    if (request.url === '/api/replicas')
      return sendJson(response, 200, [aReplicaView({ id: 'r1', model_name: 'skipper' })])
    if (request.url !== '/v1/chat/completions') return sendJson(response, 404, refused(404, 'not_found', 'No.').body)
    headers.push(request.headers['x-flotilla-wait'])
    const body = JSON.parse((await readBody(request, 1e7)).toString('utf8')) as Body
    bodies.push(body)
    await (replies.length > 1 ? replies.shift()! : replies[0]!)(response, body)
  })
  return { url, bodies, headers }
}

function begin(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req-1' })
}

const words = (...texts: string[]): string =>
  texts.map((content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`).join('')
const finish = (reason: string): string =>
  `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: reason }], usage: { total_tokens: 9 } })}\n\ndata: [DONE]\n\n`

const says =
  (...texts: string[]): Reply =>
  (response) => {
    begin(response)
    response.end(words(...texts) + finish('stop'))
  }

function run(url: string, args: string[], terminal: Partial<Terminal> = {}) {
  return runCommand(['run', '--url', url, '--key', 'k', 'skipper', ...args], { clock: systemClock, terminal })
}

/** Somebody who types these lines, and Ctrl-D. Each is typed when what was said before has come. */
function aPerson(lines: (string | (() => Promise<string>))[]) {
  const interrupts = new Set<() => void>()
  const earlierSeen: string[][] = []
  const terminal: Partial<Terminal> = {
    interactive: true,
    readInput: async () => undefined,
    async readLine(_prompt, earlier) {
      earlierSeen.push([...earlier])
      const next = lines.shift()
      return typeof next === 'function' ? next() : next
    },
    onInterrupt(act) {
      interrupts.add(act)
      return () => interrupts.delete(act)
    },
  }
  return { terminal, earlierSeen, press: () => interrupts.forEach((act) => act()), waiting: () => interrupts.size }
}

describe('flotilla run with a prompt', () => {
  test('prints the answer alone, and asks for patience while a model is loaded', async () => {
    const { url, bodies, headers } = await aGateway(says('A slot ', 'is a place.'))
    const { ended } = run(url, [
      'what',
      'is a slot?',
      '--system',
      'Be brief.',
      '--temperature',
      '0',
      '--max-tokens',
      '7',
    ])
    expect(await ended).toEqual({ code: 0, stdout: 'A slot is a place.\n', stderr: '' })
    expect(bodies).toMatchObject([
      {
        model: 'skipper',
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'what is a slot?' },
        ],
        temperature: 0,
        max_tokens: 7,
        stream: true,
      },
    ])
    expect(headers).toEqual(['keep-alive'])
  })

  test('takes its prompt from a pipe, and puts what is piped in below it when told to', async () => {
    const { url, bodies } = await aGateway(says('ok'))
    const readInput = async () => 'piped text\n'
    await run(url, [], { readInput }).ended
    await run(url, ['Sum it up.', '--stdin'], { readInput }).ended
    await run(url, ['Only this.'], { readInput: () => Promise.reject(new Error('must not be read')) }).ended
    await run(url, ['--', '--json', 'is', 'a flag?']).ended
    expect(bodies.map(({ messages }) => messages[0]!.content)).toEqual([
      'piped text',
      'Sum it up.\n\npiped text',
      'Only this.',
      '--json is a flag?',
    ])
    expect(await run(url, [], { readInput: async () => ' \n' }).ended).toMatchObject({ code: 2 })
  })

  test('tells how far a model is that is being loaded, and then its answer', async () => {
    const { url } = await aGateway((response) => {
      begin(response)
      response.write(': loading model=skipper state=waiting progress=0\n\n')
      for (const percent of [0, 43, 43]) {
        response.write(`: loading model=skipper state=staging node=gpu 1 progress=${percent}\n\n`)
      }
      response.end(words('Here.') + finish('stop'))
    })
    expect(await run(url, ['hi']).ended).toEqual({
      code: 0,
      stdout: 'Here.\n',
      stderr:
        'skipper: waiting to be placed\nskipper: its files are being fetched on gpu 1\n' +
        'skipper: its files are being fetched on gpu 1, 43 %\n',
    })
  })

  test('with --json the answer is one object', async () => {
    const { url } = await aGateway(says('Yes', '.'))
    expect(JSON.parse((await run(url, ['hi', '--json']).ended).stdout)).toEqual({
      request_id: 'req-1',
      model: 'skipper',
      content: 'Yes.',
      finish_reason: 'stop',
      usage: { total_tokens: 9 },
    })
  })

  test.each<[string, Reply, RegExp]>([
    [
      'a refusal',
      (r) => sendJson(r, 404, refused(404, 'not_found', 'There is no model "skipper".').body),
      /^There is no model "skipper"\.\n$/,
    ],
    ['a key that is not accepted', (r) => sendJson(r, 401, {}), /does not accept the admin key/],
    [
      'an error in the stream',
      (r) => {
        begin(r)
        r.end(`data: ${JSON.stringify(new AppError('no_capacity', 'No node has room.').toBody())}\n\n`)
      },
      /^No node has room\.\n$/,
    ],
    [
      'an answer that ends too early',
      (r) => {
        begin(r)
        r.end(words('Half an ans'))
      },
      /^The answer broke off before its end\.\n$/,
    ],
    [
      'a connection that is cut',
      (r) => {
        begin(r)
        r.write(words('Half'), () => setImmediate(() => r.destroy()))
      },
      /^The answer broke off: the connection was lost\.\n$/,
    ],
    [
      'nonsense',
      (r) => {
        begin(r)
        r.end('data: {"choices": 7}\n\n')
      },
      /^The model answered in a way that is not understood\.\n$/,
    ],
  ])('%s is told in one line, with exit code 1', async (_what, reply, message) => {
    const { url } = await aGateway(reply)
    const { code, stderr } = await run(url, ['hi']).ended
    expect([code, stderr]).toEqual([1, expect.stringMatching(message)])
  })

  test('Ctrl-C stops the answer, which the gateway notices', async () => {
    let isGone = false
    const { url } = await aGateway((response) => {
      begin(response)
      response.on('close', () => (isGone = true))
      response.write(words('On and on'))
    })
    const person = aPerson([])
    const { said, ended } = run(url, ['hi'], person.terminal)
    await until(() => said.stdout.includes('On and on'))
    person.press()
    expect(await ended).toMatchObject({ code: 130, stdout: 'On and on\n' })
    await until(() => isGone)
  })

  test('on a screen lines break between words, and nothing that a model writes moves the cursor', async () => {
    const { url } = await aGateway(says('red \u001B[31m', 'alert, ', 'all hands on deck\u0007'))
    const { stdout } = await run(url, ['hi'], { screen: true, columns: 20 }).ended
    expect(stdout).toBe('red [31malert, all\nhands on deck\n')
    expect((await run(url, ['hi']).ended).stdout).toContain('\u001B[31malert')
  })
})

describe('a conversation', () => {
  test('remembers what was said until it is told to forget', async () => {
    const { url, bodies } = await aGateway(says('First.'), says('Second.'), says('Third.'))
    const person = aPerson(['one', 'two', '/clear', '', 'three'])
    const { code, stdout } = await run(url, ['--system', 'S'], person.terminal).ended
    expect(code).toBe(0)
    expect(stdout).toBe(
      `skipper at ${url}. /help shows what there is; Ctrl-D leaves.\nFirst.\nSecond.\nWhat was said is forgotten.\nThird.\n`,
    )
    expect(bodies.map(({ messages }) => messages.map(({ content }) => content).join('|'))).toEqual([
      'S|one',
      'S|one|First.|two',
      'S|three',
    ])
    expect(person.earlierSeen.at(-1)).toEqual(['one', 'two', '/clear', 'three'])
  })

  test('/replica tells who answered', async () => {
    const { url } = await aGateway(says('Yes.'))
    const { stdout } = await run(url, [], aPerson(['/replica', 'hi', '/replica', '/exit', 'never']).terminal).ended
    expect(stdout.split('\n').slice(1)).toEqual([
      'There is no answer yet.',
      'Yes.',
      expect.stringMatching(/^\S+ on \S+, of \d+ replicas? that could have answered, in .*\.$/),
      '',
    ])
  })

  test('an error is told and forgotten, and an answer that was stopped counts as far as it came', async () => {
    const person = aPerson(['fails', 'stops', 'goes on'])
    const { url, bodies } = await aGateway(
      (response) => sendJson(response, 503, refused(503, 'unavailable', 'Nobody is there.').body),
      (response) => {
        begin(response)
        response.write(words('Half '))
      },
      says('Whole.'),
    )
    const { said, ended } = run(url, [], person.terminal)
    await until(() => said.stdout.includes('Half'))
    person.press()
    expect((await ended).code).toBe(0)
    expect(said.stderr).toBe('Nobody is there.\n(stopped)\n')
    expect(bodies.at(-1)!.messages.map(({ content }) => content)).toEqual(['stops', 'Half ', 'goes on'])
    expect(person.waiting()).toBe(0)
  })

  test('several lines between quotes are one prompt, and what is no command is told', async () => {
    const { url, bodies } = await aGateway(says('ok'))
    const { stdout } = await run(url, [], aPerson(['"""one', '', 'two"""', '/nonsense', '/etc/hosts?']).terminal).ended
    expect(bodies.map(({ messages }) => messages.findLast(({ role }) => role === 'user')!.content)).toEqual([
      'one\n\ntwo',
      '/etc/hosts?',
    ])
    expect(stdout).toContain('There is no /nonsense.\n/replica')
  })

  test('with a model that is not there it does not begin', async () => {
    const { url } = await aGateway(says('ok'))
    const { terminal } = aPerson([])
    const args = ['run', 'skiper', '--url', url, '--key', 'k']
    const { code, stderr } = await runCommand(args, { clock: systemClock, terminal }).ended
    expect([code, stderr]).toEqual([1, 'There is no model "skiper". Did you mean skipper?\n'])
  })
})

test('numbers that are none are mistakes', async () => {
  const { url } = await aGateway(says('ok'))
  for (const flag of ['--temperature', '--max-tokens', '--seed']) {
    expect(await run(url, ['hi', flag, 'much']).ended).toMatchObject({ code: 2 })
  }
})
