import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { serve } from '../../../test/support/http/http.ts'
import { sendJson } from '../server.ts'
import { openEvents, readEvents, type SentEvent } from './sse-reader.ts'

async function read(chunks: Iterable<Uint8Array>): Promise<SentEvent[]> {
  async function* stream(): AsyncGenerator<Uint8Array> {
    yield* chunks
  }
  const events: SentEvent[] = []
  for await (const event of readEvents(stream())) events.push(event)
  return events
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const message = (data: string): SentEvent => ({ event: 'message', data })

describe('server-sent events', () => {
  test('names, comments, several lines of data and any kind of line end', async () => {
    const text =
      '\uFEFF: hello\n\nid: 7\ndata: a\r\ndata:b\r\n\r\nevent: skipped\rdata: c\r\rdata\nretry: 5\n\ndata: d\n\n'
    expect(await read([bytes(text)])).toEqual([message('a\nb'), { event: 'skipped', data: 'c' }, message('d')])
  })

  test('what is cut off in the middle was never an event', async () => {
    expect(await read([bytes('data: a\n\ndata: b\n')])).toEqual([message('a')])
  })

  test('wherever the network cuts them, the same events come out', async () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/[\r\n]/g, ''))
    const events = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(events, fc.integer({ min: 1, max: 9 }), async (texts, size) => {
        const whole = bytes(texts.map(([text, end]) => `data: ${text}${end}${end}`).join(''))
        const parts = Array.from({ length: Math.ceil(whole.length / size) }, (_, i) =>
          whole.subarray(i * size, (i + 1) * size),
        )
        // A CR that ends the stream may have been half of a CR LF.
        const isOpen = texts.at(-1)?.[1] === '\r'
        const expected = texts.map(([text]) => message(text))
        expect(await read(parts)).toEqual(isOpen ? expected.slice(0, -1) : expected)
      }),
    )
  })

  test('an event without an end has a limit', async () => {
    function* endless(): Generator<Uint8Array> {
      for (;;) yield bytes(`data: ${'x'.repeat(1e6)}\n`)
    }
    await expect(read(endless())).rejects.toThrow('an event is too long')
  })
})

describe('a stream over HTTP', () => {
  const request = { token: 'k', signal: new AbortController().signal, quietLimitMs: 20_000 }

  test('a refusal is answered in its own words', async () => {
    const url = await serve((_, response) => sendJson(response, 503, { error: { message: 'not now' } }))
    expect(await openEvents(new URL(url), request)).toEqual({
      events: undefined,
      status: 503,
      body: { error: { message: 'not now' } },
    })
    const page = await serve((_, response) => void response.end('<html>'))
    expect(await openEvents(new URL(page), request)).toEqual({ events: undefined, status: 200, body: null })
  })

  test('a connection that is cut fails, and one without a word for too long as well', async () => {
    const url = await serve((asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: a\n\n')
      if (asked.url === '/cut') setTimeout(() => response.destroy(), 10)
    })
    const readAll = async (path: string, quietLimitMs: number, message: string): Promise<string[]> => {
      const seen: string[] = []
      const { events } = await openEvents(new URL(path, url), { ...request, quietLimitMs })
      const failed = (async () => {
        for await (const { data } of events!) seen.push(data)
      })()
      await expect(failed).rejects.toThrow(message)
      return seen
    }
    expect(await readAll('/cut', 20_000, 'aborted')).toEqual(['a'])
    expect(await readAll('/quiet', 50, 'nothing received for 0.05 s')).toEqual(['a'])
  })

  test('it can be ended from here', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: a\n\n')
    })
    const ended = new AbortController()
    const { events } = await openEvents(new URL(url), { ...request, signal: ended.signal })
    const seen: string[] = []
    const failed = (async () => {
      for await (const { data } of events!) {
        seen.push(data)
        ended.abort()
      }
    })()
    await expect(failed).rejects.toThrow('abort')
    expect(seen).toEqual(['a'])
  })
})
