/** What a page tells its reader to do, in order. */
export interface Block {
  /** Of the fence, from 1. */
  line: number
  code: string
  /** Which machine it is for. */
  machine: string
  kind: 'runs' | 'serves' | 'file' | 'not run'
  /** The file that it is the text of, or why it is not run. */
  note: string
}

/**
 * The convention: ```sh is run and must succeed. ```sh serves goes on while the rest is done, and takes the place of what
 * served the same before. ```sh … on second is for the second machine. ```sh not-run: why is not run. ```yaml name.yaml is
 * the text of that file. Other fences are shown only.
 */
export function codeBlocks(markdown: string): Block[] {
  const blocks: Block[] = []
  let open: (Omit<Block, 'code'> & { code: string[] }) | 'shown' | undefined
  for (const [index, line] of markdown.split('\n').entries()) {
    if (open === undefined) {
      const info = /^```(.*)$/.exec(line)?.[1]
      if (info === undefined) continue
      const read = readInfo(info.trim())
      open = read ? { line: index + 1, code: [], ...read } : 'shown'
    } else if (line === '```') {
      if (open !== 'shown') blocks.push({ ...open, code: open.code.join('\n') })
      open = undefined
    } else if (open !== 'shown') open.code.push(line)
  }
  if (open !== undefined) throw new Error('a fence is not closed')
  return blocks
}

function readInfo(info: string): Pick<Block, 'machine' | 'kind' | 'note'> | undefined {
  const here = { machine: 'first', note: '' }
  if (/^(bash|shell|console)\b/.test(info)) throw new Error(`\`\`\`${info}: say sh, so that it is run`)
  const [, why] = /^sh not-run: (.{5,})$/.exec(info) ?? []
  if (why !== undefined) return { ...here, kind: 'not run', note: why }
  const [, file] = /^(?:yaml|json) ([\w.-]+)$/.exec(info) ?? []
  if (file !== undefined) return { ...here, kind: 'file', note: file }
  if (!/^sh\b/.test(info)) return undefined
  const [, serves, machine = 'first'] = /^sh( serves)?(?: on (\w+))?$/.exec(info) ?? []
  if (!/^sh( serves)?( on \w+)?$/.test(info))
    throw new Error(`\`\`\`${info}: not understood; see test/docs/code-blocks.ts`)
  return { machine, note: '', kind: serves === undefined ? 'runs' : 'serves' }
}
