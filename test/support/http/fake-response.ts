import { EventEmitter } from 'node:events'

/** As much of a response as a stream uses; a reader that does not read lets everything pile up. */
export class FakeResponse extends EventEmitter {
  text = ''
  reads = true
  destroyed = false
  writableEnded = false
  writableLength = 0
  get writableNeedDrain(): boolean {
    return this.writableLength > 0
  }
  writeHead(): void {}
  write(text: string): void {
    this.text += text
    if (!this.reads) this.writableLength += text.length
  }
  end(): void {
    this.writableEnded = true
    this.emit('close')
  }
  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
  messages(): number {
    return this.text.match(/^data: /gm)?.length ?? 0
  }
}
