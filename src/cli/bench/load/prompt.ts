import type { Random } from './random.ts'

/** Plain short words that most tokenizers know as one token with the space before them. */
const WORDS = (
  'time year people way day man thing woman life child world school state family student group country problem hand part ' +
  'place case week company system program question work night point home water room mother area money story fact month ' +
  'lot right study book eye job word business issue side kind head house service friend father power hour game line end ' +
  'member law car city name team minute idea body back parent face level office door health person art war history party ' +
  'result change morning reason research girl guy moment air teacher force order light road map sea wind tree stone bird ' +
  'fish boat harbour river bridge field winter summer paper table window garden kitchen letter number music picture ' +
  'market price farm village forest mountain island ship sail rope wave tide north south east west early late small large ' +
  'old new long short high low warm cold bright dark quick slow quiet loud open shut full empty simple plain'
).split(' ')

/** A prompt of about this many tokens that is unique: engines with a prompt cache cannot reuse its beginning. */
export function makePrompt(tokens: number, random: Random): string {
  const words = Array.from({ length: tokens }, () => WORDS[Math.floor(random() * WORDS.length)]!)
  return words.join(' ')
}
