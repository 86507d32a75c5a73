/**
 * A published message. `bytes` holds, in one piece, what the last part of a subscriber's MSG or HMSG is too:
 *
 *     PUB  subject [reply ]size\r\nbody\r\n               HPUB subject [reply ]header-size size\r\nheaders body\r\n
 *                  ^tail           ^body   ^end                        ^tail                     ^body         ^end
 */
export class Message {
  subject = ''
  bytes: Buffer = EMPTY
  tailStart = 0
  replyEnd = 0
  bodyStart = 0
  end = 0
  /** 0 is no headers. */
  headerBytes = 0
  #tail: Uint8Array | undefined
  #reply: string | undefined

  set(subject: string, bytes: Buffer, tailStart: number, replyEnd: number): void {
    this.subject = subject
    this.bytes = bytes
    this.tailStart = tailStart
    this.replyEnd = replyEnd
    this.#tail = undefined
    this.#reply = undefined
  }

  get hasReply(): boolean {
    return this.replyEnd > this.tailStart
  }

  /** Made on first use: with open permissions and a responder that is there, it is never needed. */
  get reply(): string {
    return (this.#reply ??= this.bytes.toString('latin1', this.tailStart, this.replyEnd))
  }

  /** From the reply subject to the last CRLF, as a view made once for all subscribers. */
  get tail(): Uint8Array {
    const { bytes, tailStart } = this
    return (this.#tail ??= new Uint8Array(bytes.buffer, bytes.byteOffset + tailStart, this.end - tailStart))
  }

  /** For a subscriber that does not know headers: what its MSG line ends with, and the body alone. */
  get bareHead(): string {
    return `${this.hasReply ? `${this.reply} ` : ''}${this.bareBody.byteLength - CRLF_BYTES}\r\n`
  }

  get bareBody(): Uint8Array {
    return this.bytes.subarray(this.bodyStart + this.headerBytes, this.end)
  }
}

const EMPTY = Buffer.alloc(0)
const CRLF_BYTES = 2
