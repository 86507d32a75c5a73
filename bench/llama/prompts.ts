/** What is asked: short questions that skipper answers in a few dozen tokens, and prompts that are long to read. */
const WORDS = 300
const vocabulary = 'ship harbour captain replica node slot lantern wave rule model engine worker gateway sea'.split(' ')

export const prompts = {
  words: WORDS,
  stories: ['Tell me a story', 'What is a slot?', 'Tell me a sea story', 'How do I add a second machine?'],
  /** Differs from all others from its first word on, so that nothing that is kept helps. */
  unseen: (round: number): string => `${round} ${wordsOf(round)} What is a slot?`,
  followUp: (round: number): string => `${round} ${wordsOf(round)} What is a node?`,
}

function wordsOf(round: number): string {
  return Array.from({ length: WORDS }, (_, index) => vocabulary[(index * (round + 3)) % vocabulary.length]).join(' ')
}
