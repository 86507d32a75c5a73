import { z } from 'zod'

/** Signing in to the dashboard. The session itself is a cookie that no script can read. */

/** An admin key, or the code of a link that is good for one time. */
export const signInInput = z
  .strictObject({ key: z.string().min(1).max(200).optional(), code: z.string().min(1).max(200).optional() })
  .refine(({ key, code }) => (key === undefined) !== (code === undefined), { message: 'takes a key or a code' })

export const sessionView = z.object({
  signed_in: z.boolean(),
  /** False for a caller that may only read. */
  may_change: z.boolean(),
  /** The actor in events; null when the caller is not signed in. */
  actor: z.string().nullable(),
  expires_at: z.int().nullable(),
  version: z.string(),
})
export type SessionView = z.infer<typeof sessionView>

/** For the playground; null when the caller is not signed in. It allows inference only. */
export const inferenceToken = z.object({ token: z.string().nullable(), expires_at: z.int().nullable() })

/** To be opened as `<frontend>/sign-in#<code>`: what follows a # is never sent, so it is in no log. */
export const signInCode = z.object({ code: z.string(), expires_at: z.int() })
export type SignInCode = z.infer<typeof signInCode>
