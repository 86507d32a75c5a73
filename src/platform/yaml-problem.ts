/** An error of the YAML parser, as far as it is translated here. */
interface ParserError {
  code?: string
  message: string
}

/**
 * What is wrong with a YAML text, as part of a sentence for its author. The parser's own messages speak of block
 * collections, implicit keys and compact mappings.
 */
export function yamlProblem({ code = '', message }: ParserError): string {
  if (code === 'MISSING_CHAR')
    return MISSING.find(([pattern]) => pattern.test(message))?.[1] ?? 'a character is missing'
  if (code === 'BAD_INDENT' && /[\]}]/.test(message)) return `${UNCLOSED}, or ${INDENTED}`
  return (
    WORDS[code] ?? (/alias/i.test(message) ? 'its aliases (*name) multiply to too many values' : 'it cannot be read')
  )
}

const UNCLOSED = 'a comma or a closing bracket is missing'
const INDENTED = 'this line is not indented like those that it belongs to'
const WORDS: Readonly<Record<string, string>> = {
  BLOCK_AS_IMPLICIT_KEY:
    'there is a second ": " in a line, or the next lines are indented too far; a value with ": " in it must be in quotes',
  MULTILINE_IMPLICIT_KEY: 'a name must stand on one line, with ": " after it',
  BAD_INDENT: INDENTED,
  TAB_AS_INDENT: 'lines are indented with spaces, not with tabs',
  DUPLICATE_KEY: 'this name is given twice',
  BAD_SCALAR_START: 'a value that begins with this character must be in quotes',
  UNEXPECTED_TOKEN: `something stands here that does not belong here, or ${INDENTED}`,
  BAD_ALIAS: 'a value that begins with * or & must be in quotes',
  ALIAS_PROPS: 'a value that begins with * must be in quotes',
  BAD_DQ_ESCAPE:
    'a backslash in "…" must be followed by a letter that it makes special; write two of them, or use \'…\'',
  TAG_RESOLVE_FAILED: 'a value that begins with ! must be in quotes',
  BAD_COLLECTION_TYPE: 'a value that begins with ! must be in quotes',
  MULTIPLE_DOCS: 'there is a second document after "---", and one is expected',
  KEY_OVER_1024_CHARS: 'a name has more than 1024 characters',
  BAD_DIRECTIVE: 'a line that begins with % must be in quotes',
}
const MISSING: readonly [RegExp, string][] = [
  [/quote/, 'a quotation mark is not closed'],
  [/map (keys|values)/, 'a name must be followed by ": " and its value'],
  [/Sequence item/, 'an entry of a list must begin with "- "'],
  [/space/, 'a space is missing, before # or after :'],
  [/[,[\]{}]|flow/, UNCLOSED],
]
