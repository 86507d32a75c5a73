/** Whether a request that failed so never left this machine: no connection was made that could have carried it. */
export function isUnsent(error: NodeJS.ErrnoException): boolean {
  // Several addresses were tried, and none of them could be connected to.
  if (error instanceof AggregateError) return true
  return error.syscall === 'connect' || error.syscall === 'getaddrinfo'
}
