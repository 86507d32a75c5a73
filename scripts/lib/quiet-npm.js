/** Of npm's words, those that tell of its requests: a sign that it gets on, and of no use to a person but the last. */
const REQUEST = /^npm http /

/**
 * Says what npm waits for when nothing has come from it for so long, and again after three times as long each. It tells of
 * each request when it is run with `--loglevel=http`.
 *
 * @param {{ registry: () => Promise<string | undefined>, say: (line: string) => void, quietMs?: number }} options
 */
export function watchNpm({ registry, say, quietMs = 10_000 }) {
  let lastWord = ''
  let waitMs = quietMs
  let timer
  const wait = () => {
    clearTimeout(timer)
    timer = setTimeout(tell, waitMs)
  }
  const startedMs = Date.now()
  let heardMs = startedMs
  const tell = async () => {
    const seconds = Math.round((Date.now() - heardMs) / 1000)
    waitMs *= 3
    wait()
    const host = await registry().catch(() => undefined)
    const where = host === undefined ? 'the package registry' : `the package registry ${host}`
    const last = lastWord === '' ? '' : `\n  npm's last word: ${lastWord}`
    say(
      `Nothing has come from npm for ${seconds} s: it waits for ${where}, or unpacks. If it stays so, look at the network, ` +
        `the proxy (npm config get proxy) and the certificates (NODE_EXTRA_CA_CERTS).${last}`,
    )
  }
  wait()
  return {
    /** @param {string} text what npm has printed */
    heard(text) {
      heardMs = Date.now()
      waitMs = quietMs
      lastWord = withoutSecrets(text.trimEnd().split('\n').at(-1) ?? '').slice(0, 300)
      wait()
    },
    end() {
      clearTimeout(timer)
    },
  }
}

/**
 * What a person needs of what npm has printed: all but its requests, of which the last few stay where one has failed.
 *
 * @param {string} output
 */
export function wordsOf(output) {
  const lines = output.split('\n')
  const failed = lines.filter((line) => REQUEST.test(line) && / (attempt \d+ failed|[45]\d\d) /.test(line)).slice(-3)
  return withoutSecrets([...failed, ...lines.filter((line) => !REQUEST.test(line))].join('\n'))
}

function withoutSecrets(text) {
  return text.replaceAll(/\/\/[^/@\s]+@/g, '//')
}
