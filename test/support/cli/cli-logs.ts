import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { ModelView } from '../../../src/api/admin/model-schemas.ts'
import type { LogEntry, LogLine, NodeView, ReplicaView } from '../../../src/api/admin/schemas.ts'
import { parseReplicaKey } from '../../../src/core/lib/replica-key.ts'
import { bearerToken, sendJson } from '../../../src/http/server.ts'
import { ADMIN_KEY, refused, type Refused } from './cli.ts'
import { serve } from '../http/http.ts'
import { tempFolder } from '../temp-folder.ts'

/** A cluster whose nodes have logs that grow, as the admin API shows them. Connections can be cut and nodes be away. */
export class LogCluster {
  nodes: NodeView[] = []
  replicas: ReplicaView[] = []
  models: ModelView[] = []
  /** Answered by a node instead of what was asked, by its id. */
  readonly away = new Map<string, Refused>()
  /** What was asked for, as path and query. */
  readonly asked: string[] = []
  key = ADMIN_KEY
  url = ''
  data = ''
  readonly #lines = new Map<string, LogLine[]>()
  readonly #followers = new Set<{ id: string; response: ServerResponse; wants: (line: LogLine) => boolean }>()

  async start(): Promise<this> {
    this.url = await serve((request, response) => this.#answer(request, response))
    this.data = tempFolder()
    writeFileSync(join(this.data, 'endpoint.json'), JSON.stringify({ url: this.url, listen: new URL(this.url).host }))
    writeFileSync(join(this.data, 'admin.key'), `${ADMIN_KEY}\n`)
    return this
  }

  /** An engine prints a line. */
  print(id: string, replica: string, text: string, fields: Partial<LogLine> = {}): void {
    const lines = this.#linesOf(id)
    const line: LogLine = { seq: lines.length + 1, at: Date.now(), replica, stream: 'stdout', text, ...fields }
    lines.push(line)
    for (const follower of this.#followers) {
      if (follower.id === id && follower.wants(line)) follower.response.write(toEvent(line))
    }
  }

  /** Writes into the streams of a node whatever it is. */
  send(id: string, text: string): void {
    for (const follower of this.#followers) if (follower.id === id) follower.response.write(text)
  }

  followers(id: string): number {
    return [...this.#followers].filter((follower) => follower.id === id).length
  }

  /** Ends the streams of a node: in the middle of it, or as if all were said. */
  cut(id: string, how: 'cut' | 'end' = 'cut'): void {
    for (const { response } of [...this.#followers].filter((follower) => follower.id === id)) {
      if (how === 'cut') response.destroy()
      else response.end()
    }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url!, 'http://frontend')
    this.asked.push(request.url!)
    const [, , noun, id, what, key] = url.pathname.split('/').map(decodeURIComponent)
    const absent = bearerToken(request) === this.key ? this.away.get(id ?? '') : refused(401, 'unauthorized', 'No.')
    if (absent) sendJson(response, absent.status, absent.body)
    else if (noun === 'models') sendJson(response, 200, this.models)
    else if (noun === 'replicas') sendJson(response, 200, this.replicas)
    else if (id === undefined) sendJson(response, 200, this.nodes)
    else if (what === 'backend-logs' && key === undefined) sendJson(response, 200, this.#entries(id))
    else if (what === 'backend-logs') this.#readLogs(id, key!, url.searchParams, request, response)
    else sendJson(response, 404, refused(404, 'not_found', 'There is no such thing.').body)
  }

  #readLogs(id: string, key: string, query: URLSearchParams, request: IncomingMessage, response: ServerResponse): void {
    const [stream, grep, after] = [query.get('stream'), query.get('grep'), query.get('after')]
    const limit = Number(query.get('limit') ?? 1000)
    const isKey = this.#linesOf(id).some(({ replica }) => replica === key)
    const isOf = ({ replica }: LogLine): boolean =>
      isKey ? replica === key : parseReplicaKey(replica)?.modelName === key
    const wants = (line: LogLine): boolean =>
      isOf(line) &&
      (stream === null || line.stream === stream) &&
      (grep === null || line.text.toLowerCase().includes(grep.toLowerCase()))
    const lines = this.#linesOf(id).filter((line) => wants(line) && line.seq > Number(after ?? 0))
    const limited = after === null ? lines.slice(-limit) : lines.slice(0, limit)
    if (query.get('follow') === null) {
      sendJson(response, 200, { lines: limited })
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    response.write(`: follows\n\n${limited.map(toEvent).join('')}`)
    const follower = { id, response, wants }
    this.#followers.add(follower)
    request.socket.once('close', () => this.#followers.delete(follower))
  }

  #entries(id: string): LogEntry[] {
    const entries = new Map<string, LogEntry>()
    for (const { replica: key, seq, at } of this.#linesOf(id)) {
      const modelName = parseReplicaKey(key)!.modelName
      const entry = entries.get(modelName) ?? { model_name: modelName, replicas: [] }
      entries.set(modelName, entry)
      let replica = entry.replicas.find((one) => one.key === key)
      if (!replica) entry.replicas.push((replica = { key, lines: 0, first_seq: seq, last_seq: seq, last_at: at }))
      Object.assign(replica, { lines: replica.lines + 1, last_seq: seq, last_at: at })
    }
    return [...entries.values()]
  }

  #linesOf(id: string): LogLine[] {
    const lines = this.#lines.get(id) ?? []
    this.#lines.set(id, lines)
    return lines
  }
}

function toEvent(line: LogLine): string {
  return `id: ${line.seq}\ndata: ${JSON.stringify(line)}\n\n`
}
