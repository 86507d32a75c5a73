import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { writeGguf } from '../../../model-files/header/testing/write-gguf.ts'
import { systemClock } from '../../../platform/run/clock.ts'
import { runCommand } from '../../../../test/support/cli/cli-command.ts'
import { serve } from '../../../../test/support/http/http.ts'
import { tempFolder } from '../../../../test/support/temp-folder.ts'

const metadata = {
  'general.architecture': 'llama',
  'general.name': 'Tiny \u001B[31mmodel',
  'general.file_type': 7,
  'llama.block_count': 2,
  'llama.context_length': 32_768,
  'llama.embedding_length': 64,
  'llama.attention.head_count': 8,
  'llama.attention.head_count_kv': 2,
  'tokenizer.ggml.tokens': { length: 100 },
  'tokenizer.chat_template': `{% for m in messages %}\n${'long '.repeat(100)}`,
}

function aModel(name = 'tiny.gguf'): string {
  const path = join(tempFolder(), name)
  writeGguf(path, { metadata, tensors: [{ name: 'blk.0.attn_q.weight', bytes: 8_000_000 }] })
  return path
}

const inspect = (wanted: string, ...args: string[]) => inspectWith({}, wanted, ...args)

function inspectWith(env: Record<string, string>, ...args: string[]) {
  return runCommand(['models', 'inspect', ...args], { clock: systemClock, env }).ended
}

describe('flotilla models inspect', () => {
  test('shows what a file says, and the memory of a few contexts, within 80 columns and without a cluster', async () => {
    const { code, stdout } = await inspect(aModel())
    expect(code).toBe(0)
    for (const line of stdout.split('\n').slice(1)) expect(line.length, line).toBeLessThanOrEqual(80)
    const [, ...lines] = stdout.split('\n')
    expect(lines.join('\n')).toBe(
      '  Is         a model\n' +
        '  Name       Tiny model\n' +
        '  Format     gguf, llama, Q8_0\n' +
        '  Files      1 file, 7.6 MiB\n' +
        '  Tensors    1, 7.6 MiB\n' +
        '  Layers     2, 8 heads (2 for keys and values), embedding of 64, vocabulary of\n' +
        '             100\n' +
        '  Context    trained for 32768 tokens; models add takes 8192 unless --context\n' +
        '             says otherwise\n' +
        '  Template   {% for m in messages %} long long long long long long long long\n' +
        '             long long long long long long long long long long long …\n' +
        '\n' +
        'Memory of one replica with 4 requests at a time, estimated\n' +
        '  CONTEXT  GPU: VRAM    AND RAM   CPU: RAM\n' +
        '     2048  802.1 MiB  528.1 MiB  162.1 MiB\n' +
        '     8192  877.1 MiB  576.1 MiB  237.1 MiB\n' +
        '    32768    1.1 GiB  768.1 MiB  537.1 MiB\n',
    )
  })

  test('prints all of it as JSON, the template included', async () => {
    const { stdout } = await inspect(aModel(), '--json')
    const json = JSON.parse(stdout) as object
    expect(json).toMatchObject({
      kind: 'model',
      architecture: 'llama',
      quantisation: 'Q8_0',
      context: 32_768,
      layers: 2,
      heads: 8,
      key_value_heads: 2,
      tensor_bytes: 8_000_000,
      chat_template: metadata['tokenizer.chat_template'],
      memory: [{ context: 2048 }, { context: 8192 }, { context: 32_768, cpu: { ram: expect.any(Number) } }],
    })
  })

  test('reads a file on the web, of which it fetches the beginning alone, without telling what is secret', async () => {
    const content = readFileSync(aModel())
    let sent = 0
    const url = await serve((request, response) => {
      const [, from, to] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '')!
      const part = content.subarray(Number(from), Number(to) + 1)
      sent += part.length
      response.writeHead(206, { 'content-range': `bytes ${from}-${to}/${content.length}` })
      response.end(part)
    })
    const { code, stdout } = await inspect(`${url}/tiny.gguf?token=secret`)
    expect([code, stdout.split('\n', 1)[0]]).toEqual([0, `${url}/tiny.gguf`])
    expect(stdout).toContain('Tensors    1, 7.6 MiB')
    expect(sent).toBeLessThan(content.length / 4)
  })

  test('reads hf: sources from the endpoint of the configuration', async () => {
    const content = readFileSync(aModel())
    const url = await serve((request, response) => {
      expect([request.url, request.headers.authorization]).toEqual(['/o/r/resolve/main/q8.gguf', 'Bearer hf_token'])
      response.writeHead(200, { 'content-length': content.length })
      response.end(request.method === 'HEAD' ? undefined : content)
    })
    const env = { FLOTILLA_HF_ENDPOINT: url, FLOTILLA_HF_TOKEN: 'hf_token' }
    const { code, stdout } = await inspectWith(env, 'hf:o/r/q8.gguf')
    expect([code, stdout.split('\n', 1)[0]]).toEqual([0, 'hf:o/r/q8.gguf'])
  })

  test('says in one line why a file cannot be read', async () => {
    const [cut, garbage] = [aModel(), aModel('garbage.gguf')]
    truncateSync(cut, 200)
    writeFileSync(garbage, 'these are no weights at all')
    const url = await serve((_request, response) => void response.writeHead(404).end())
    const cases: [string, string][] = [
      [cut, `${cut} is damaged: it ends in the middle of its header. Fetch or convert it again.\n`],
      [garbage, `${garbage} is not a GGUF file.\n`],
      ['/nowhere/x.gguf', 'There is no file or folder /nowhere/x.gguf here.\n'],
      [
        `${url}/x.gguf`,
        `Cannot fetch ${url.slice(7)}/x.gguf: there is no such file (404). Check the model's source.\n`,
      ],
    ]
    for (const [wanted, stderr] of cases) expect(await inspect(wanted)).toEqual({ code: 1, stdout: '', stderr })
  })

  test('of a folder with several models it names them', async () => {
    const folder = tempFolder()
    for (const name of ['a.gguf', 'b.gguf']) writeGguf(join(folder, name), { metadata })
    const { code, stderr } = await inspect(folder)
    expect([code, stderr]).toEqual([1, 'There are 2 models in there. Name one of them:\n  a.gguf\n  b.gguf\n'])
  })

  test('what only a cluster has is a mistake', async () => {
    for (const wanted of ['frontend:x.gguf', 'ollama:llama3', 'ftp://x/y.gguf']) {
      expect((await inspect(wanted)).code).not.toBe(0)
    }
  })
})
