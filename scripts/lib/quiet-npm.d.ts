export function watchNpm(options: {
  registry: () => Promise<string | undefined>
  say: (line: string) => void
  quietMs?: number
}): { heard(text: string): void; end(): void }
export function wordsOf(output: string): string
