/**
 * What one hostile or broken member can do to the others: each row was measured by the run or the test that it names. The
 * numbers of "before" are those of commit 6b14cce. Part of the page that `--write` makes.
 */
export const MEMBERS = `## What one hostile or broken member can do to others

One member behaves as badly as it can; the others are asked all the while. "Before" is Flotilla of 2026-11-19, commit 6b14cce.
[Security](../guide/security.md) says what each member is trusted with.

| member | what it does | before | now | shown by |
|---|---|---|---|---|
| client without a key | 1,000 sign-ins of 1 MB each | frontend at 1,142 MB; with a limit of 1 GiB it is killed after 1.6 s | 305 MB, all 1,000 refused with 413 | \`npm run faults -- --only sign-ins\`, admin-api-bodies.test |
| client without a key | asks through nginx with its default lines | inference and \`/metrics\` open | 401 with \`--local-inference off\`, the default with TLS or beyond loopback; open where an admin leaves it on | guard.test |
| web page on another port | asks without a key | 200 | 401 | guard.test |
| client with a key | 40 bodies of 60 MB, then a pause | 2,472 MB, for good | 648 MB, 38 of 40 refused with 503 and \`Retry-After\`; other requests: 0 refused | \`npm run faults -- --only 'bodies fill'\`, body-memory.test |
| client with a limited key | asks Ollama's load request for a model that is not its own | learns whether it is ready | 403 | ollama-api.test |
| node | malformed heartbeats of 890 KB that ask for an answer | control hears no node for 25 s; 942 MB of log | another node unheard for 0.5 s at most; 2.3 KB of log | \`npm run fuzz\` (200,000 messages), \`npm run faults -- --only 'approved node'\` |
| node | names any subject for the answer | control says what only control may say: 301 extra turns | no answer | hostile-suite, on both brokers |
| node | a copy of its key on another machine | engines run twice; the copy's SIGTERM takes the original offline | 409 for the copy, both addresses in \`status\`; 0 of 826 requests failed | \`npm run faults -- --only 'a copy of a worker'\` |
| node | sends PINGs over its connection to a gateway and reads nothing | 127 MB in the test, without a bound | under 4 MB, then the connection ends | mux.test |
| node | claims for ever that its memory has not been read | – | 30 s, then the room is planned anew | freed.test |
| gateway (stolen credentials) | a request that is answered with more than 1 MiB | the leader ends | refused by its bounds, or answered with \`too_large\` | hostile-suite |
| engine | endless \`100 Continue\`, or a head byte by byte | the request hangs | 502 after 20, or after 60 s | answer-parser.test, upstream-connection.test |
| engine | reads its log; sets cookies and CORS in its answers | holds the dashboard's session; replaces it in a browser | no cookie and no key reach it; those headers are removed | passed-headers.test |
| engine | writes to stdout without end | 0.67 of a core, 169 MB | 0.02 of a core, 87 MB | log-reader.test |
| store | empty, or of another cluster, at the old address | every worker ends within 3 s; both gateways answer 404 after 1.2 s | refused at the start, not obeyed while running; engines and routes stay | \`npm run faults -- --only 'frontends start empty'\` |
| store | a copy that another frontend leads on | engines start and stop without end: 645 events in 35 s | both report it, the later leader stands back; 0 of 736 requests failed | \`npm run faults -- --only 'a second leader'\` |
| store | takes no writes (full disk, read-only PostgreSQL) | 500, and \`status\` says that all is well | first in \`status\`, with the reason; 0 of 242 requests failed | \`npm run faults -- --only 'takes no writes'\` |
| store | 50,000 rows of models that are gone | \`/api/models\` 256 ms, a write 716 ms | not read by views and turns; all but 500 a table deleted | prune-suite |
| leader | freezes | the admin keys of other frontends get 401 for ever | they are known to every gateway, whichever frontend leads | frontends-suite |
| disk | full under the log | frontend and worker exit with 7 at the next line | lines are dropped and counted; 0 requests lost | \`npm run faults -- --only 'the log disk'\` |
| disk | full at a restart | exit 1; the worker's engines end a minute later | the frontend serves from its saved table, the worker takes its engines over | full-disk.test |
| cleaner | deletes \`flotilla.db\` under a running frontend | not reported; the next start is empty | reported within 30 s; \`db export\` saves all of it from the open file | export-lost-file.test |
| cleaner | deletes a worker's folder, then the worker dies | its engines live for ever | they end | \`npm run faults -- --only journal\`, watchdog.test |
| clock | off by an hour (frontend, gateway, worker) | not reported | requests go on; \`status\` names nodes and frontends that are off, with the seconds | the faults of group machine |
| log reader | stands still | the whole process stands: 0 answers in 26 s | 0 of 188 requests refused or lost; \`status\` says so | \`npm run faults -- --only 'stuck log reader'\` |
| firewall | gateways cannot reach a node's data port | \`status\` says that all is well | a problem with the address and \`--advertise\` | reach-watch.test |
`
