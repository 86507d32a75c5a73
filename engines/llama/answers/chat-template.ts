import { badRequest } from '../../lib/api-error.ts'
import type { LlamaLibrary, LlamaModel } from '../native/library.ts'
import type { ChatRequest } from '../requests.ts'

/** The most common template, for models without one. */
const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

/** Turns messages into the text that a model was trained on, by the template in its file. */
export class ChatTemplate {
  readonly #template: { render(values: Record<string, unknown>): string } | undefined
  readonly #tokens: LlamaModel['tokens']
  readonly #knowsTools: boolean

  constructor({ Template }: Pick<LlamaLibrary, 'Template'>, { tokens, fileInfo }: LlamaModel) {
    const given = fileInfo.metadata.tokenizer?.chat_template
    const text = typeof given === 'string' && given !== '' ? given : CHATML
    try {
      this.#template = new Template(text)
    } catch {
      // With an unreadable template, the other kinds of requests still work.
      this.#template = undefined
    }
    this.#tokens = tokens
    this.#knowsTools = /\btools\b/.test(text)
  }

  render({ messages, tools, templateValues }: Pick<ChatRequest, 'messages' | 'tools' | 'templateValues'>): string {
    if (tools && !this.#knowsTools) {
      throw badRequest('The chat template of this model knows no tools.', 'tools', 'unsupported_value')
    }
    if (!this.#template) {
      throw badRequest(
        'The chat template of this model cannot be read. Use /v1/completions.',
        'messages',
        'no_template',
      )
    }
    try {
      return this.#template.render({
        ...templateValues,
        messages,
        ...(tools && { tools: tools.tools }),
        add_generation_prompt: true,
        bos_token: this.#tokens.bosString ?? '',
        eos_token: this.#tokens.eosString ?? '',
      })
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw badRequest(`The chat template of this model refuses these messages: ${why}`, 'messages', 'template_error')
    }
  }
}
