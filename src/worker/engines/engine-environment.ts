/** The worker's own variables (join token, admin key, database, bus) and those that systemd sets for a service only. */
const OURS = /^(FLOTILLA_|LOCALAI_|PG[A-Z]|NATS_|DATABASE_URL$|CREDENTIALS_DIRECTORY$|NOTIFY_SOCKET$)/

/**
 * The environment of an engine, or of a command that installs one: the worker's, without the worker's own variables.
 */
export function engineEnvironment(
  worker: Readonly<Record<string, string | undefined>>,
  set: Readonly<Record<string, string>>,
): Record<string, string> {
  const inherited = Object.entries(worker).flatMap(([name, value]) =>
    value === undefined || OURS.test(name) ? [] : [[name, value] as const],
  )
  return { ...Object.fromEntries(inherited), ...set }
}
