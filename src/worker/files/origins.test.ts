import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AppError } from '../../platform/errors.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { answer, bytes, cutAfter, FileServer, redirectTo, sha256Of } from './file-server-suite.ts'
import type { FrontendFiles } from './frontend-files.ts'
import { openModelFiles, stage } from './scene-suite.ts'

const KIB = 1024

/** A hub whose large files lie on another host, as those of Hugging Face do. */
async function startHub(repository: string, files: Record<string, Buffer>, large: readonly string[] = []) {
  const [hub, store] = [await FileServer.start(), await FileServer.start()]
  const entries = Object.entries(files).map(([path, body]) => ({
    type: 'file',
    path,
    size: large.includes(path) ? 134 : body.length,
    oid: 'a'.repeat(40),
    ...(large.includes(path) ? { lfs: { oid: sha256Of(body), size: body.length, pointerSize: 134 } } : {}),
  }))
  const tree = `/api/models/${repository}/tree/main`
  const pages = [[{ type: 'directory', path: 'sub', size: 0, oid: 'b' }, ...entries.slice(0, 1)], entries.slice(1)]
  hub.put(tree, Buffer.from(JSON.stringify(pages[0])), {})
  const serve = (path: string, body: Buffer): void => {
    if (!large.includes(path)) return void hub.put(`/${repository}/resolve/main/${path}`, body)
    store.put(`/${path}`, body)
  }
  for (const [path, body] of Object.entries(files)) serve(path, body)
  // Everything that is asked of the hub goes through here.
  const behave = (): void => {
    hub.behaviours.push((request, response, file) => {
      behave()
      const url = new URL(request.url!, 'http://hub')
      const path = decodeURIComponent(url.pathname).split('/resolve/main/')[1]
      if (url.pathname === tree) {
        const isSecond = url.searchParams.get('cursor') === 'two'
        // Mirrors pass on links to the original.
        const link = '<https://huggingface.example/api/x?recursive=true&cursor=two>; rel="next"'
        response.writeHead(200, isSecond ? {} : { link }).end(JSON.stringify(pages[isSecond ? 1 : 0]))
      } else if (path !== undefined && large.includes(path)) {
        const body = files[path]!
        const headers = { 'x-linked-etag': `"${sha256Of(body)}"`, 'x-linked-size': String(body.length) }
        response.writeHead(302, { location: `${store.url}/${path}?signature=s`, ...headers }).end()
      } else if (!file) response.writeHead(404).end()
      else
        response
          .writeHead(200, { 'content-length': String(file.body.length) })
          .end(request.method === 'HEAD' ? '' : file.body)
    })
  }
  behave()
  return { hub, store }
}

test('a repository comes whole, over several pages, in a folder of its own', async () => {
  const files = { 'config.json': bytes(20, 'c'), 'sub/model 1.safetensors': bytes(50 * KIB, 'm'), 'z.bin': bytes(0) }
  const { hub, store } = await startHub('org/repo', files, ['sub/model 1.safetensors'])
  const models = await openModelFiles({ hfEndpoint: `${hub.url}/`, hfToken: 'hf_secret' })
  const staged = await stage(models, { source: 'hf:org/repo' })
  for (const [path, body] of Object.entries(files)) {
    expect(readFileSync(join(staged.modelPath!, path)).equals(body)).toBe(true)
  }
  expect(staged.bytes).toBe(20 + 50 * KIB)
  expect(new Set(hub.requests.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer hf_secret']))
  expect(store.requests.map(({ authorization, path }) => [authorization, path.split('?')[0]])).toEqual([
    [undefined, '/sub/model%201.safetensors'],
  ])
})

test('a single file of a repository is known by its digest before it is fetched, and not fetched twice', async () => {
  const { hub, store } = await startHub('org/repo', { 'f.gguf': bytes(KIB), 'README.md': bytes(9) }, ['f.gguf'])
  const models = await openModelFiles({ hfEndpoint: hub.url })
  const staged = await stage(models, { source: 'hf:org/repo/f.gguf' })
  expect(readFileSync(staged.modelPath!).equals(bytes(KIB))).toBe(true)
  await stage(models, { source: 'hf:org/repo', modelName: 'whole' })
  expect(store.requests).toHaveLength(1)
})

test('a corrupted file of a repository is noticed without anybody having named its digest', async () => {
  const { hub, store } = await startHub('org/repo', { 'f.gguf': bytes(KIB) }, ['f.gguf'])
  store.put('/f.gguf', bytes(KIB, 'other'))
  const models = await openModelFiles({ hfEndpoint: hub.url })
  await expect(stage(models, { source: 'hf:org/repo/f.gguf' })).rejects.toThrow('is not what it should be')
})

test('a file or a repository that the hub does not have is named', async () => {
  const { hub } = await startHub('org/repo', { 'f.gguf': bytes(KIB) })
  const models = await openModelFiles({ hfEndpoint: hub.url })
  await expect(stage(models, { source: 'hf:org/repo/nothing.gguf' })).rejects.toThrow(
    `${hub.host}/org/repo/resolve/main/nothing.gguf: there is no such file (404)`,
  )
  await expect(stage(models, { source: 'hf:org/other@dev' })).rejects.toMatchObject({ code: 'not_found' })
  expect(hub.requests.at(-1)!.path).toBe('/api/models/org/other/tree/dev?recursive=true')
})

test('the parts of a split file come along, and the first one is the model', async () => {
  const parts = ['q/m-00001-of-00003.gguf', 'q/m-00002-of-00003.gguf', 'q/m-00003-of-00003.gguf']
  const { hub } = await startHub('org/repo', Object.fromEntries(parts.map((part) => [part, bytes(KIB, part)])), parts)
  const staged = await stage(await openModelFiles({ hfEndpoint: hub.url }), { source: `hf:org/repo/${parts[1]}` })
  expect(staged.modelPath).toMatch(/\/m-00001-of-00003\.gguf$/)
  expect(readdirSync(join(staged.modelPath!, '..'))).toHaveLength(3)
  expect(staged.bytes).toBe(3 * KIB)
})

test.for(['../evil', '/etc/passwd', 'a/../../evil', 'a\\..\\evil', 'nul\0', './a', 'a//b', '..'])(
  'a repository with a file named %j is refused',
  async (name) => {
    const folder = tempFolder()
    const { hub } = await startHub('org/repo', { [name]: bytes(3), ok: bytes(3) })
    const models = await openModelFiles({ folder: join(folder, 'store'), hfEndpoint: hub.url })
    await expect(stage(models, { source: 'hf:org/repo' })).rejects.toThrow('whose name cannot be used here')
    expect(readdirSync(folder)).toEqual(['store'])
  },
)

test('odd but harmless names are kept as they are', async () => {
  const names = ['ünïcode 模型.gguf', 'a%2e%2e', '-rf', 'a#b?c&d', '...', 'sp ace/@x', '$(x);`y`']
  const files = Object.fromEntries(names.map((name) => [name, bytes(10, name)]))
  const { hub } = await startHub('org/repo', files)
  const staged = await stage(await openModelFiles({ hfEndpoint: hub.url }), { source: 'hf:org/repo' })
  for (const name of names) expect(readFileSync(join(staged.modelPath!, name)).equals(files[name]!)).toBe(true)
})

test('redirects are followed, with the range, and without user and password to another host', async () => {
  const [first, other] = [await FileServer.start(), await FileServer.start()]
  const body = bytes(100 * KIB)
  other.put('/real.bin', body)
  const redirect = redirectTo(`${other.url}/real.bin?x=1`)
  first.behaviours.push(redirectTo('/second'), redirect, redirectTo('/second', 307), redirect)
  other.behaviours.push(cutAfter(40 * KIB))
  const source = `http://user:pass@${first.host}/f.gguf`
  const staged = await stage(await openModelFiles(), { source })
  expect(readFileSync(staged.modelPath!).equals(body)).toBe(true)
  expect(staged.modelPath).toMatch(/f\.gguf$/)
  const basic = `Basic ${Buffer.from('user:pass').toString('base64')}`
  expect(first.requests.map(({ authorization }) => authorization)).toEqual([basic, basic, basic, basic])
  expect(other.requests).toMatchObject([
    { authorization: undefined, range: undefined },
    { authorization: undefined, range: `bytes=${40 * KIB}-` },
  ])
})

test('a way back to the first host does not bring its password back', async () => {
  const [first, other] = [await FileServer.start(), await FileServer.start()]
  first.put('/final', bytes(3))
  first.behaviours.push(redirectTo(`${other.url}/x`))
  other.behaviours.push(redirectTo(`${first.url}/final`))
  await stage(await openModelFiles(), { source: `http://u:p@${first.host}/f.gguf` })
  expect(first.requests[1]).toMatchObject({ path: '/final', authorization: undefined })
})

test('redirects without end, or to something else than the web, are refused', async () => {
  const server = await FileServer.start()
  const models = await openModelFiles()
  server.behaviours.push(...Array.from({ length: 11 }, () => redirectTo('/again?secret=1')))
  await expect(stage(models, { source: `${server.url}/f.gguf` })).rejects.toThrow(
    `${server.host}/f.gguf was redirected more than 10 times.`,
  )
  server.behaviours.push(redirectTo('file:///etc/passwd'))
  await expect(stage(models, { source: `${server.url}/g.gguf` })).rejects.toThrow('not a web address')
})

/** A frontend that signs what it hands out and has one folder. */
function aFrontend(server: FileServer, attempts: number[] = []): FrontendFiles {
  return {
    async locate(path, { attempt }) {
      attempts.push(attempt)
      if (attempt === 0) throw new AppError('unavailable', 'this frontend is away')
      return { url: new URL(`/files/${path}`, server.url), headers: { authorization: `Node ${path}` } }
    },
  }
}

test('a file and a folder of the frontend, with each request signed anew', async () => {
  const server = await FileServer.start()
  const list = {
    files: [
      { path: 'config.json', size: 5 },
      { path: 'deep/w.bin', size: KIB },
    ],
  }
  server.put('/files/folder', Buffer.from(JSON.stringify(list)), {
    headers: { 'content-type': 'application/json; charset=utf-8' },
  })
  server.put('/files/folder/config.json', bytes(5))
  server.put('/files/folder/deep/w.bin', bytes(KIB))
  server.put('/files/one.gguf', bytes(7))
  const models = await openModelFiles({ frontend: aFrontend(server) })
  const folder = await stage(models, { source: 'frontend:folder/' })
  expect(readFileSync(join(folder.modelPath!, 'deep/w.bin')).equals(bytes(KIB))).toBe(true)
  const file = await stage(models, { source: `frontend:one.gguf#sha256=${sha256Of(bytes(7))}` })
  expect(readFileSync(file.modelPath!).equals(bytes(7))).toBe(true)
  expect(server.requests.every(({ path, authorization }) => authorization === `Node ${path.slice(7)}`)).toBe(true)
  await expect(stage(models, { source: 'frontend:none.gguf' })).rejects.toMatchObject({ code: 'not_found' })
  await expect(stage(models, { source: `frontend:folder#sha256=${'a'.repeat(64)}` })).rejects.toThrow('is a folder')
})

test('a frontend that lists a way out of the folder, or nothing, is refused', async () => {
  const server = await FileServer.start()
  const frontend = aFrontend(server)
  const json = { headers: { 'content-type': 'application/json' } }
  server.put('/files/evil', Buffer.from('{"files":[{"path":"../../x","size":1}]}'), json)
  server.put('/files/empty', Buffer.from('{"files":[]}'), json)
  server.put('/files/odd', Buffer.from('{"files":7}'), json)
  const models = await openModelFiles({ frontend })
  await expect(stage(models, { source: 'frontend:evil' })).rejects.toThrow('whose name cannot be used here')
  await expect(stage(models, { source: 'frontend:empty' })).rejects.toThrow('is empty')
  await expect(stage(models, { source: 'frontend:odd' })).rejects.toThrow('is not one')
})

test('options that are sources are staged as well; others are left alone', async () => {
  const server = await FileServer.start()
  const folder = tempFolder()
  writeFileSync(join(folder, 'lora.gguf'), bytes(11))
  const source = server.put('/m.gguf', bytes(100))
  const mmproj = server.put('/mmproj.gguf', bytes(10, 'p'))
  const others = { base_url: `${server.url}/v1`, homepage: server.url, context: 4096, flash: true, note: 'file' }
  const options = { mmproj: `${mmproj}?token=1`, lora: `file:${folder}/lora.gguf`, ...others }
  const staged = await stage(await openModelFiles(), { source, options })
  expect(staged.options).toMatchObject({ ...others, lora: join(folder, 'lora.gguf') })
  expect(readFileSync(String(staged.options['mmproj'])).equals(bytes(10, 'p'))).toBe(true)
  expect(staged.bytes).toBe(121)
})

test('a companion that fails fails the whole, names its option, and lets go of the rest', async () => {
  const server = await FileServer.start()
  const source = server.put('/m.gguf', bytes(100))
  const files = await openModelFiles()
  const failure = stage(files, { source, options: { mmproj: `${server.url}/none.gguf` } })
  await expect(failure).rejects.toThrow(
    /^The option "mmproj" of the model: Cannot fetch .*none\.gguf: there is no such file/,
  )
  expect(await files.delete('m')).toMatchObject({ files: expect.any(Number) })
})

test('a model without a source has no path, and its companions still come', async () => {
  const server = await FileServer.start()
  const staged = await stage(await openModelFiles(), { options: { lora: server.put('/l.gguf', bytes(5)) } })
  expect(staged.modelPath).toBeUndefined()
  expect(staged.options['lora']).toMatch(/\/l\.gguf$/)
})

test('files on the node are used where they are; what is missing or different is named', async () => {
  const folder = tempFolder()
  mkdirSync(join(folder, 'repo/sub'), { recursive: true })
  writeFileSync(join(folder, 'repo/sub/x'), bytes(10))
  writeFileSync(join(folder, 'm-00001-of-00002.gguf'), bytes(1))
  writeFileSync(join(folder, 'm-00002-of-00002.gguf'), bytes(2))
  writeFileSync(join(folder, 'n-00001-of-00002.gguf'), bytes(1))
  const files = await openModelFiles()
  const source = `file:${folder}/m-00002-of-00002.gguf`
  expect(await stage(files, { source })).toMatchObject({ modelPath: join(folder, 'm-00001-of-00002.gguf'), bytes: 3 })
  expect(await stage(files, { source: `file:${folder}/repo` })).toMatchObject({
    modelPath: `${folder}/repo`,
    bytes: 10,
  })
  expect(await stage(files, { source: `${source}#sha256=${sha256Of(bytes(2))}` })).toMatchObject({ bytes: 3 })
  await expect(stage(files, { source: `${source}#sha256=${'0'.repeat(64)}` })).rejects.toThrow(
    'is not what it should be',
  )
  await expect(stage(files, { source: `file:${folder}/n-00001-of-00002.gguf` })).rejects.toThrow(
    `There is no file or folder ${folder}/n-00002-of-00002.gguf on this node.`,
  )
  expect(await files.delete('m')).toEqual({ files: 0, freedBytes: 0 })
  expect(readdirSync(folder)).toHaveLength(4)
})

test('what the frontend of this very machine has is used where it is', async () => {
  const frontendFolder = tempFolder()
  mkdirSync(join(frontendFolder, 'sub'))
  writeFileSync(join(frontendFolder, 'sub', 'a.gguf'), bytes(4))
  const files = await openModelFiles({ frontendFolder })
  const stage = (source: string) =>
    files.stage({ modelName: 'm', source, options: {} }, { signal: new AbortController().signal, onProgress: () => {} })
  expect((await stage('frontend:sub/a.gguf')).modelPath).toBe(join(frontendFolder, 'sub', 'a.gguf'))
  await expect(stage('frontend:b.gguf')).rejects.toThrow(`models folder of the frontend on this machine`)
})

test('with a shared folder nothing is fetched, and what is missing there is named', async () => {
  const sharedFolder = tempFolder()
  const server = await FileServer.start()
  mkdirSync(join(sharedFolder, 'org/repo'), { recursive: true })
  for (const name of ['a.gguf', 'org/repo/b.gguf']) writeFileSync(join(sharedFolder, name), bytes(4))
  const files = await openModelFiles({ sharedFolder })
  const pathOf = async (source: string): Promise<string | undefined> => (await stage(files, { source })).modelPath
  expect(await pathOf('frontend:a.gguf')).toBe(join(sharedFolder, 'a.gguf'))
  expect(await pathOf(`${server.url}/deep/a.gguf?x=1`)).toBe(join(sharedFolder, 'a.gguf'))
  expect(await pathOf('hf:org/repo/b.gguf@main')).toBe(join(sharedFolder, 'org/repo/b.gguf'))
  expect(await pathOf('hf:org/repo')).toBe(join(sharedFolder, 'org/repo'))
  await expect(pathOf('hf:org/other')).rejects.toThrow(
    `There is no file or folder ${sharedFolder}/org/other on this node.`,
  )
  expect(server.requests).toEqual([])
})

test('a single file that is no model is fetched and held, also beside a shared folder', async () => {
  const server = await FileServer.start()
  const files = await openModelFiles({ sharedFolder: tempFolder() })
  const waiting = { signal: new AbortController().signal, onProgress: () => {} }
  const source = `${server.put('/engine.tar.gz', bytes(64))}#sha256=${sha256Of(bytes(64))}`
  const archive = await files.fetch(source, waiting)
  expect(readFileSync(archive.path).equals(bytes(64))).toBe(true)
  expect(archive.bytes).toBe(64)
  archive.release()
  await expect(files.fetch('hf:org/repo', waiting)).rejects.toThrow('a single file was expected')
  server.behaviours.push(answer(404))
  await expect(files.fetch(`${server.url}/none.tgz`, waiting)).rejects.toMatchObject({ code: 'not_found' })
})
