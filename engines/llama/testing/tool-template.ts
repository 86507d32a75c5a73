import { readFileSync, writeFileSync } from 'node:fs'
import { skipper } from '../../../test/support/worker/llama-engine.ts'

const KEY = 'tokenizer.chat_template'
/** Behind the key: the kind of its value in 4 bytes, and its length in 8. */
const KIND_BYTES = 4
const LENGTH_BYTES = 8
const ALIGNMENT = 32

/** In the way of Hermes and Qwen, in as few words as skipper has room for. */
const TEMPLATE =
  "{% if tools %}{{ '<|im_start|>system\\n' }}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{{ '<|im_end|>\\n' }}{% endif %}" +
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] }}" +
  "{% for call in message['tool_calls'] or [] %}{{ '<tool_call>' }}{{ call.function | tojson }}{{ '</tool_call>' }}{% endfor %}" +
  "{{ '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

/** For tests: a copy of skipper whose chat template knows tools. Skipper itself still knows nothing of them. */
export function writeSkipperWithTools(file: string): void {
  const whole = readFileSync(skipper)
  const at = whole.indexOf(KEY) + KEY.length + KIND_BYTES
  const length = Number(whole.readBigUInt64LE(at))
  const template = Buffer.from(filledUp(TEMPLATE, length))
  const newLength = Buffer.alloc(LENGTH_BYTES)
  newLength.writeBigUInt64LE(BigInt(template.length))
  const rest = whole.subarray(at + LENGTH_BYTES + length)
  writeFileSync(file, Buffer.concat([whole.subarray(0, at), newLength, template, rest]))
}

/** With a comment, so that the weights behind it move by whole steps of their alignment: then nothing else has to change. */
function filledUp(template: string, oldLength: number): string {
  const missing = (length: number): number => (((oldLength - length) % ALIGNMENT) + ALIGNMENT) % ALIGNMENT
  const commented = `${template}{##}`
  return `${template}{#${' '.repeat(missing(commented.length))}#}`
}
