import { makeSignInCode } from '../../control/api/access/sessions.ts'
import type { Database } from '../../store/sql.ts'

/**
 * The dashboard's address, for the terminal of the person who started it: a link that signs in once, within ten
 * minutes. Anything but a terminal may store it, so it gets the bare address. Browsers do not send the part after the #
 * to any server.
 */
export async function dashboardLink({ url, db }: { url: string; db: Database }, isScreen: boolean): Promise<string> {
  const plain = `${url}/   (flotilla dashboard prints a link that signs you in)`
  if (!isScreen) return plain
  try {
    const { code } = await makeSignInCode(db, { actor: 'admin', keyId: null })
    return `${url}/sign-in#${code}`
  } catch {
    // An unreachable store must not keep the frontend from serving.
    return plain
  }
}
