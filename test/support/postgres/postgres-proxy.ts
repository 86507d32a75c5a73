import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** What to do when `text` passes from a client to the server: cut before it arrives, or just before its answer returns. */
export interface Cut {
  text: string
  when: 'before' | 'after'
}

/** Stands between a client and PostgreSQL and cuts the connection at a chosen word, once. */
export class PostgresProxy {
  readonly url: string
  readonly #server: ReturnType<typeof createServer>
  readonly #sockets: Set<Socket>
  readonly #plan: { cut: Cut | undefined }

  private constructor(
    url: string,
    server: ReturnType<typeof createServer>,
    sockets: Set<Socket>,
    plan: { cut: Cut | undefined },
  ) {
    this.url = url
    this.#server = server
    this.#sockets = sockets
    this.#plan = plan
  }

  static async start(serverUrl: string): Promise<PostgresProxy> {
    const target = new URL(serverUrl)
    const sockets = new Set<Socket>()
    const plan: { cut: Cut | undefined } = { cut: undefined }
    const server = createServer((client) => {
      const upstream = connect(Number(target.port), target.hostname)
      for (const socket of [client, upstream]) {
        sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => {
          sockets.delete(socket)
          client.destroy()
          upstream.destroy()
        })
      }
      let deaf = false
      client.on('data', (chunk) => {
        const { cut } = plan
        if (cut && chunk.includes(cut.text)) {
          plan.cut = undefined
          if (cut.when === 'before') return client.destroy()
          deaf = true
        }
        return upstream.write(chunk)
      })
      upstream.on('data', (chunk) => {
        if (deaf) client.destroy()
        else client.write(chunk)
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = new URL(serverUrl)
    url.hostname = '127.0.0.1'
    url.port = String((server.address() as AddressInfo).port)
    return new PostgresProxy(url.href, server, sockets, plan)
  }

  /** The next time this text passes. */
  cutAt(cut: Cut): void {
    this.#plan.cut = cut
  }

  /** Cuts everything and accepts nobody: the server is gone. */
  async stop(): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    if (this.#server.listening) await once(this.#server, 'close')
  }
}
