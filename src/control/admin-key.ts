import type { RoutedKeyMessage } from '../api/bus/messages.ts'
import { hashSecret } from '../platform/secrets.ts'

/** The admin key in a frontend's data folder as gateways on their own check it. It is in no store, so it has no row. */
export function adminKeyMessage(adminKey: string): RoutedKeyMessage {
  return { id: 'admin', key_hash: hashSecret(adminKey), scopes: ['admin'], models: null, expires_at: null }
}
