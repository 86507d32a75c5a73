/**
 * node:http, taken without `import`. An import statement reads every export, and some of those (WebSocket and friends)
 * load Node's whole fetch implementation: 13 MB in each process that never uses it.
 */
const http = process.getBuiltinModule('node:http')

export const { createServer, request, get, Agent, STATUS_CODES } = http
