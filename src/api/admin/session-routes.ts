import { z } from 'zod'
import type { Route } from './route.ts'
import { inferenceToken, sessionView, signInCode, signInInput } from './session-schemas.ts'

/** The sessions of the dashboard. */
export const sessionRoutes = {
  signIn: {
    method: 'POST',
    path: '/api/session',
    auth: 'none',
    summary: 'Sign in to the dashboard with an admin key, or with the code of a link; the answer sets a cookie',
    body: signInInput,
    mostBodyBytes: 4096,
    reply: sessionView,
  },
  showSession: {
    method: 'GET',
    path: '/api/session',
    auth: 'none',
    summary: 'The session of the caller at the dashboard, if it has one',
    reply: sessionView,
  },
  signOut: {
    method: 'DELETE',
    path: '/api/session',
    auth: 'none',
    summary: 'End the session of the caller',
    reply: z.object({}),
  },
  createInferenceToken: {
    method: 'POST',
    path: '/api/session/inference-token',
    auth: 'none',
    summary: 'A key for inference that ends with the session of the caller, and after an hour; null without a session',
    reply: inferenceToken,
  },
  createSignInCode: {
    method: 'POST',
    path: '/api/session/codes',
    auth: 'admin',
    summary: 'A code to sign in with once, within ten minutes',
    reply: signInCode,
  },
} as const satisfies Record<string, Route>
