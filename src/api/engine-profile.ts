import { z } from 'zod'

/**
 * An engine as data: how its program is started and stopped, how to see that it serves, and what it needs. Built-in
 * profiles and those that users write in YAML have this one shape.
 *
 * Placeholders are filled in for each replica: `{{host}}` `{{port}}` `{{model}}` (the model's name) `{{model_path}}` (its
 * files on this node) `{{source}}` `{{source_name}}` (without its scheme: `org/repo` of `hf:org/repo`; files have none)
 * `{{program}}` (where it was found), and `{{any_option}}` of the model by its name, of which Flotilla knows `{{context}}`
 * (tokens of one request), `{{parallel}}` and `{{devices}}`. `{{context_total}}` is the context of all parallel requests
 * together. An option that is not set has no value: the program's own default holds.
 */

const text = z.string().min(1).max(4096)

/** `_` and `-` mean the same in them. */
export const optionNames = z.array(z.string().min(1).max(100)).max(200)

/** One argument, or several that belong together and are left out when one of their placeholders has no value. */
const argument = z.union([text, z.array(text).min(1).max(20)], 'must be text, or a list of texts that belong together')

const readiness = z.union(
  [
    /** Answers 200 here once it can serve. */
    z.strictObject({ http: z.string().startsWith('/') }),
    /** Accepts connections. */
    z.strictObject({ port: z.literal(true) }),
    /** Has printed a line that matches this regular expression. */
    z.strictObject({ log: text.refine(isPattern, 'must be a regular expression') }),
  ],
  'must be one of { http: /path }, { port: true } and { log: a regular expression }',
)

export const archive = z.strictObject({
  url: z.string().min(1).max(2000),
  sha256: z
    .string()
    .max(64)
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits'),
})

/** What an engine takes of a node, whatever the model; control places replicas by it. */
export const engineUses = z.strictObject({
  /** What it runs on: GPUs only, never one, or GPUs where there are some. */
  device: z.enum(['gpu', 'cpu', 'either']).default('either'),
  /** It takes this share of each device that it is given. The option of a model that changes it has a name as well. */
  share: z.strictObject({ option: text, default: z.number().gt(0).max(1) }).optional(),
  /** The option of a model that says over how many devices one replica is spread. */
  devices_option: text.optional(),
  /** It takes this many bytes without any model file, and what the model's option of that name adds. */
  bytes: z.int().nonnegative().optional(),
  bytes_option: text.optional(),
})

/** When an engine takes its memory: as it loads, all that the device has at once, or as requests need it. */
export const engineMemory = z.enum(['on_load', 'preallocated', 'on_demand'])

export const engineProfile = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be lower-case letters, digits, ".", "_" and "-"'),
  description: z.string().max(500).default(''),
  /** The first is the program: found among the installed engines, else in PATH, else by its absolute path. */
  command: z.tuple([text], argument),
  /** The program that must be there when the first of `command`, a shell say, only starts it as `{{program}}`. */
  program: text.optional(),
  /** The option of the model that is a shell line with placeholders of its own; they are filled in quoted. */
  shell_option: text.optional(),
  /**
   * The names of all options that it takes, beside those that every engine takes (`context`, `parallel`, `devices`,
   * `ready_path`) and those named here in `uses`. A model with another one is refused. Left out: any option is accepted.
   */
  option_names: optionNames.optional(),
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().max(4096)).default({}),
  /**
   * How options that no placeholder takes reach the program, with `-` for `_`: each as `--name=value`, each as two
   * arguments `--name value` (programs that know no `=`), or not at all. True is a bare `--name`; false is left out,
   * since what turns a default off has a flag of its own nearly everywhere (`no_mmap: true`).
   */
  options: z.enum(['flags', 'pairs', 'none']).default('flags'),
  /** What it wants of a model's source: its files on disk, the text of the source (it fetches by itself), or nothing. */
  model: z.enum(['files', 'source', 'none']).default('files'),
  /** The name that the program knows the model by, when that is not the model's own; requests are changed to it. */
  request_model: text.optional(),
  /** How to see that it serves. The model's option `ready_path` takes its place: that path answers 200. */
  ready: readiness,
  /** How long a start may go without any sign of progress; 20 s are added for each GiB of the model. */
  ready_within_s: z.number().positive().max(86_400).default(120),
  /** Where the program listens: checked to be loopback, and its own. `elsewhere` is for what runs in a container. */
  listens: z.enum(['itself', 'elsewhere']).default('itself'),
  stop: z
    .strictObject({
      signal: z.enum(['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP']).default('SIGTERM'),
      kill_after_s: z.number().nonnegative().max(600).default(10),
    })
    .prefault({}),
  memory: engineMemory.default('on_load'),
  uses: engineUses.prefault({}),
  /** The paths it answers. */
  serves: z
    .array(z.string().startsWith('/'))
    .max(50)
    .default(['/v1/chat/completions', '/v1/completions', '/v1/models']),
  /** That list is complete: a gateway refuses other paths by itself, and neither loads nor asks anything for them. */
  serves_no_other: z.boolean().default(false),
  /** Requests it works on at once by itself, when the model's option `parallel` does not say otherwise. */
  parallel: z.int().min(1).max(10_000).default(1),
  /** How to get the program when a node does not have it. */
  install: z
    .union(
      [z.strictObject({ archive }), z.strictObject({ command: z.array(text).min(1).max(100) })],
      'must be { archive: { url, sha256 } } or { command: [program, argument, …] }',
    )
    .optional(),
  /** Whether a replica that needs the program installs it, or an admin must ask for it because it takes long or may fail. */
  install_when: z.enum(['needed', 'asked']).default('needed'),
})
export type EngineProfile = z.infer<typeof engineProfile>
export type EngineProfileInput = z.input<typeof engineProfile>

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp
  } catch {
    return false
  }
}
