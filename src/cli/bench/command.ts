import { clientOptions, type Command } from '../command.ts'

export const benchCommand: Command = {
  name: 'bench',
  summary: 'Load a cluster with requests and measure how it does',
  about:
    'Sends each request when it is due, whether or not earlier ones were answered; all times count from then. Reports\n' +
    'throughput, time to the first token, between tokens and to the end, answers by replica, and failures. --mix names a YAML\n' +
    'list of models, each with rate or share, and prompt, answer, stream, turns and think where they differ from the flags.\n' +
    'The same seed sends the same requests at the same times. Ctrl-C ends it and reports what was measured.',
  options: clientOptions,
  arguments: [{ name: 'model', optional: true }],
  flags: {
    rate: { value: 'n', help: 'Requests a second; with turns, conversations that begin in a second' },
    for: { value: 'time', help: 'How long: 30s, 5m, 1h (default 30s)' },
    requests: { value: 'n', help: 'End after this many requests, or conversations' },
    mix: { value: 'file', help: 'Several models: a YAML list' },
    prompt: { value: 'tokens', help: 'How long prompts are: 200 or 50-400 (default 200)' },
    answer: { value: 'tokens', help: 'How long answers are: 100 or 20-200 (default 100)' },
    stream: { value: 'share', help: 'How many requests ask for a stream (default 100%)' },
    turns: { value: 'n', help: 'Requests of one conversation: 3 or 1-5 (default 1)' },
    think: { value: 'time', help: 'Between an answer and the next turn: 2s or 2s-10s (default 0)' },
    arrivals: { value: 'kind', help: 'poisson, as people come, or constant (default poisson)' },
    ramp: { value: 'time', help: 'Increase to the rate over this time (default 0)' },
    'warm-up': { value: 'time', help: 'Send for this time first without counting (default 0)' },
    'most-in-flight': { value: 'n', help: 'Requests beyond this many at a time are counted, not sent (default 1000)' },
    timeout: { value: 'time', help: 'Give a request up after this time (default 5m)' },
    seed: { value: 'n', help: 'Random seed (default 1)' },
    html: { value: 'file', help: 'Also write a page with plots' },
  },
  examples: [
    'flotilla bench skipper --rate 5 --for 30s --prompt 200 --stream 80%',
    'flotilla bench --mix mix.yaml --rate 20 --ramp 10s --html report.html',
    'flotilla bench qwen --rate 2 --turns 2-6 --think 2s-10s --for 5m --json',
  ],
}
