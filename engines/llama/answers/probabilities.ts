import type { LlamaModel, Token } from '../native/library.ts'

/** A token with its natural logarithm of probability and those that were likeliest in its place. */
export interface TokenProbability {
  token: string
  logprob: number
  top: { token: string; logprob: number }[]
}

/** JSON has no infinity; this is as good as impossible. */
const IMPOSSIBLE = -9999

export function probabilityOf(
  model: Pick<LlamaModel, 'detokenize'>,
  token: Token,
  probabilities: readonly number[],
  most: number,
): TokenProbability {
  const textOf = (one: Token): string => model.detokenize([one], true)
  return {
    token: textOf(token),
    logprob: logOf(shareOf(token, probabilities)),
    top: likeliest(probabilities, most).map(([one, share]) => ({ token: textOf(one), logprob: logOf(share) })),
  }
}

/** Tokens are at the even places, each with its share behind it. */
function shareOf(token: Token, probabilities: readonly number[]): number | undefined {
  for (let at = 0; at < probabilities.length; at += 2) if (probabilities[at] === token) return probabilities[at + 1]
  return undefined
}

/** A vocabulary has up to some hundred thousand tokens, of which a handful is wanted: no reason to sort them all. */
function likeliest(probabilities: readonly number[], most: number): [Token, number][] {
  const best: [Token, number][] = []
  if (most === 0) return best
  for (let at = 0; at + 1 < probabilities.length; at += 2) {
    const [token, share] = [probabilities[at]!, probabilities[at + 1]!]
    if (best.length === most && share <= (best.at(-1)?.[1] ?? 0)) continue
    const place = best.findIndex(([, other]) => other < share)
    best.splice(place < 0 ? best.length : place, 0, [token, share])
    best.length = Math.min(best.length, most)
  }
  return best
}

function logOf(share: number | undefined): number {
  return share === undefined || share <= 0 ? IMPOSSIBLE : Math.log(share)
}
