/** Variables of the worker's own: join token, admin key, database, bus; and what systemd hands to services alone. */
const OURS = /^(FLOTILLA_|LOCALAI_|PG[A-Z]|NATS_|DATABASE_URL$|CREDENTIALS_DIRECTORY$|NOTIFY_SOCKET$)/

/** What an engine, or a command that installs one, gets: the worker's environment without the worker's own business. */
export function engineEnvironment(
  worker: Readonly<Record<string, string | undefined>>,
  set: Readonly<Record<string, string>>,
): Record<string, string> {
  const inherited = Object.entries(worker).flatMap(([name, value]) =>
    value === undefined || OURS.test(name) ? [] : [[name, value] as const],
  )
  return { ...Object.fromEntries(inherited), ...set }
}
