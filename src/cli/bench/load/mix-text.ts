import { span } from '../../terminal/format.ts'
import { plain } from '../../terminal/text-width.ts'
import { MOST, type Part, type Plan } from './mix.ts'
import type { Range } from './random.ts'
import { countText, rateText, shareText, shortTimeText } from '../time-text.ts'

/** `poisson arrivals for 30s after 5s of warm-up, growing for 10s, seed 1`. */
export function planText({ arrivals, forMs, mostConversations, warmUpMs, rampMs, seed }: Plan): string {
  const isByTime = forMs < MOST.forMs
  const limits = [
    ...(isByTime ? [`for ${span(forMs)}`] : []),
    ...(mostConversations < MOST.requests
      ? [`${isByTime ? 'at most ' : ''}${countText(mostConversations)} requests`]
      : []),
  ]
  const more = [
    ...(warmUpMs > 0 ? [`after ${span(warmUpMs)} of warm-up`] : []),
    ...(rampMs > 0 ? [`growing for ${span(rampMs)}`] : []),
    `seed ${seed}`,
  ]
  return [`${arrivals} arrivals ${limits.join(', ')}`, ...more].join(', ')
}

/** `skipper: 5/s, prompts of 200 tokens, answers of 100, 80 % streamed`. */
export function partText({ model, ratePerS, prompt, answer, streamShare, turns, thinkMs }: Part): string {
  const talk =
    turns.most === 1
      ? []
      : [
          `${rangeText(turns, String)} turns${thinkMs.most === 0 ? '' : ` with ${rangeText(thinkMs, shortTimeText)} between them`}`,
        ]
  return [
    `${plain(model)}: ${rateText(ratePerS)}/s`,
    `prompts of ${rangeText(prompt, countText)} ${prompt.most === 1 ? 'token' : 'tokens'}`,
    `answers of ${rangeText(answer, countText)}`,
    `${shareText(streamShare)} streamed`,
    ...talk,
  ].join(', ')
}

function rangeText({ least, most }: Range, text: (value: number) => string): string {
  return least === most ? text(least) : `${text(least)} to ${text(most)}`
}
