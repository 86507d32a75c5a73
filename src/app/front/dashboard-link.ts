import { makeSignInCode } from '../../control/api/access/sessions.ts'
import type { Database } from '../../store/sql.ts'

/**
 * Where a browser goes, for the screen of whoever started it: a link that signs in once, within ten minutes. What is not a
 * screen may be kept by somebody, so it gets the bare address; what follows the # is sent to nobody.
 */
export async function dashboardLink({ url, db }: { url: string; db: Database }, isScreen: boolean): Promise<string> {
  const plain = `${url}/   (flotilla dashboard prints a link that signs you in)`
  if (!isScreen) return plain
  try {
    const { code } = await makeSignInCode(db, { actor: 'admin', keyId: null })
    return `${url}/sign-in#${code}`
  } catch {
    // A store that is away for a moment is no reason not to serve.
    return plain
  }
}
