import type { Flag } from './command.ts'

/** The flags that say which nodes a command is about. Apart from what they do, which help texts need not load. */
export const nodeFlag: Flag = {
  value: 'node',
  many: true,
  help: 'This node: its name, its id or the beginning of its id; may be given more than once',
}
export const allFlag: Flag = { help: 'All nodes that are not offline' }
