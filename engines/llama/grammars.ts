import { badRequest } from '../lib/api-error.ts'
import type { AnswerFormat } from './answers/answer-format.ts'
import type { Llama, LlamaGrammar } from './native/library.ts'

/**
 * Any JSON object. Little white space: a small model may otherwise write it for ever. Numbers have no leading zeros and
 * an end, texts have no control characters.
 */
const JSON_OBJECT = String.raw`root ::= object
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws ( string ":" ws value ( "," ws string ":" ws value )* )? ws "}"
array ::= "[" ws ( value ( "," ws value )* )? ws "]"
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" ( ["\\/bfnrt] | "u" [0-9a-fA-F]{4} ) )* "\""
number ::= "-"? ( "0" | [1-9] [0-9]{0,15} ) ( "." [0-9]{1,15} )? ( [eE] [-+]? [0-9]{1,3} )?
ws ::= " "?
`

/** The library ends its grammars with empty lines, to have something to stop at; here the end of the value is the end. */
const EMPTY_LINES = String.raw` "\n\n\n\n" [\n]*`

const MOST_KEPT = 64

/** The grammars of answers. Clients use the same schema again and again, so the last ones are kept. */
export class Grammars {
  readonly #llama: Llama
  readonly #kept = new Map<string, Promise<LlamaGrammar>>()

  constructor(llama: Llama) {
    this.#llama = llama
  }

  async of(format: AnswerFormat, param: string): Promise<LlamaGrammar | undefined> {
    if (format.kind === 'text') return undefined
    const key = format.kind === 'json' ? '' : JSON.stringify(format.schema)
    const grammar = this.#kept.get(key) ?? this.#make(format)
    this.#kept.delete(key)
    this.#kept.set(key, grammar)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest)
    try {
      return await grammar
    } catch (error) {
      this.#kept.delete(key)
      const why = error instanceof Error ? error.message : String(error)
      throw badRequest(`No grammar can be made of this schema: ${why}`, param)
    }
  }

  async #make(format: Exclude<AnswerFormat, { kind: 'text' }>): Promise<LlamaGrammar> {
    if (format.kind === 'json') return this.#llama.createGrammar({ grammar: JSON_OBJECT })
    const { grammar } = await this.#llama.createGrammarForJsonSchema(format.schema)
    return this.#llama.createGrammar({ grammar: grammar.replace(EMPTY_LINES, '') })
  }
}
