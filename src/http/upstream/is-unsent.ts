/** Whether a request that failed with this error never left this machine, because no connection was made. */
export function isUnsent(error: NodeJS.ErrnoException): boolean {
  // Several addresses were tried, and none accepted a connection.
  if (error instanceof AggregateError) return true
  return error.syscall === 'connect' || error.syscall === 'getaddrinfo'
}
