import { show, type Act } from '../client.ts'
import { span } from '../terminal/format.ts'

export const dashboard: Act = async (client) => {
  const { code, expires_at: expiresAt } = await client.api.call('createSignInCode')
  const url = new URL('/sign-in', client.cluster.url)
  // In the fragment, which browsers do not send to servers: so it is in no log.
  url.hash = code
  if (!client.json)
    client.terminal.note(`Good once, for ${span(expiresAt - client.api.nowMs())}. Open it in a browser:`)
  // The link alone goes to stdout, for use in a pipe.
  return show(client, { url: url.href, expires_at: expiresAt }, () => [url.href])
}
