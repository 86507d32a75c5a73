/**
 * How a node proves that a call is its own: `Authorization: Node <signed_at>.<signature>`, a signature with the node's key
 * over this text. It names the method and the path, and so the node: it is good for nothing else.
 */
export function signedText(method: string, path: string, signedAtMs: number): string {
  return `flotilla node ${method} ${path} ${signedAtMs}`
}

/** A signature is good for this long, so that a recorded call is worth nothing tomorrow. */
export const SIGNATURE_LIFE_MS = 5 * 60_000
