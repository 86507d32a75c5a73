import { clientOptions, type Command } from '../command.ts'

export const runCommand: Command = {
  name: 'run',
  summary: 'Talk to a model in the terminal',
  about:
    'With a prompt it prints one answer; what is piped in is a prompt, too. Without one it is a conversation: /replica shows\n' +
    'which replica answered, /clear forgets the conversation, /exit or Ctrl-D leaves, Ctrl-C stops an answer. A model that is not loaded\n' +
    'is loaded first. --key may be an API key for inference; /replica needs the admin key.',
  options: clientOptions,
  arguments: [{ name: 'model' }, { name: 'prompt', optional: true, many: true }],
  rest: 'prompt',
  flags: {
    system: { value: 'text', help: 'System prompt: what the model reads before the conversation' },
    temperature: { value: 't', help: 'How freely it chooses its words, from 0 on; 0 gives the same answer each time' },
    'max-tokens': { value: 'n', help: 'The longest answer, in tokens' },
    seed: { value: 'n', help: 'Random seed' },
    stdin: { help: 'Put what is piped in below the prompt' },
  },
  examples: [
    'flotilla run skipper',
    'flotilla run skipper "what is a slot?"',
    'flotilla run qwen --stdin "Sum this up." < notes.txt',
    'flotilla run qwen --url http://frontend:8080',
  ],
}
