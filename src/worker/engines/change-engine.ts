import type { EngineProfile } from '../../api/engine-profile.ts'
import { AppError } from '../../platform/errors.ts'
import type { Step } from './operations.ts'
import type { Programs } from './programs.ts'
import { prepareArchive, prepareByCommand, recipeId, type Prepared, type Recipe, type RecipeDeps } from './recipe.ts'
import { unlessAborted } from './unless-aborted.ts'

export interface ChangeDeps extends RecipeDeps {
  programs: Programs
  /** Stops every replica of an engine. Survivors are replicas whose process is still alive. Both lists hold keys. */
  stopReplicas: (engine: string) => Promise<{ stopped: string[]; survivors: string[] }>
}

/** Installs an engine that is missing. Does nothing if the same recipe is already installed. */
export async function installEngine(
  profile: EngineProfile,
  recipe: Recipe,
  deps: ChangeDeps,
  step: Step,
): Promise<void> {
  const { installed, programs } = deps
  if (hasAlready(profile, recipe, deps)) return
  const current = installed.get(profile.name)
  if (current && programs.lookInFolder(profile) !== undefined) {
    const fix = 'Upgrade it to replace it.'
    throw new AppError('conflict', `"${profile.name}" is installed already, as version ${current.version}. ${fix}`)
  }
  await leavingNothing(profile.name, deps, async () => (await prepare(profile, recipe, deps, step)).commit())
}

/** Replaces the installed version. The old one stays intact until the new one is complete. */
export async function upgradeEngine(
  profile: EngineProfile,
  recipe: Recipe,
  deps: ChangeDeps,
  step: Step,
): Promise<void> {
  if (hasAlready(profile, recipe, deps)) return
  await leavingNothing(profile.name, deps, async () => {
    // A command may change the running program, so replicas stop before it; an archive is fetched while they still
    // serve.
    if ('command' in recipe) await stopReplicas(profile.name, deps, step)
    const prepared = await prepare(profile, recipe, deps, step)
    if ('archive' in recipe) await stopReplicas(profile.name, deps, step)
    step.signal.throwIfAborted()
    await prepared.commit()
  })
}

/** Deletes what Flotilla installed. Programs that were installed by other means stay. */
export async function deleteEngine(
  name: string,
  profile: EngineProfile | undefined,
  deps: ChangeDeps,
  step: Step,
): Promise<void> {
  const { installed, programs } = deps
  if (!installed.get(name)) {
    const program = profile && programs.lookFor(profile)
    if (program === undefined) return
    throw new AppError('conflict', `"${name}" was not installed by Flotilla: its program is ${program}.`)
  }
  await stopReplicas(name, deps, step)
  step.signal.throwIfAborted()
  await installed.remove(name)
}

/** Installed from the same recipe, and complete. */
function hasAlready(profile: EngineProfile, recipe: Recipe, { installed, programs }: ChangeDeps): boolean {
  const isSame = installed.get(profile.name)?.recipe === recipeId(recipe)
  return isSame && programs.lookFor(profile) !== undefined
}

async function leavingNothing(engine: string, { installed }: ChangeDeps, change: () => Promise<void>): Promise<void> {
  try {
    await change()
  } catch (error) {
    await installed.discardLeftovers(engine)
    throw error
  }
}

function prepare(profile: EngineProfile, recipe: Recipe, deps: ChangeDeps, step: Step): Promise<Prepared> {
  if ('archive' in recipe) return prepareArchive(profile, recipe, deps, step)
  return prepareByCommand(profile, recipe, deps, step)
}

async function stopReplicas(engine: string, deps: ChangeDeps, step: Step): Promise<void> {
  const { stopped, survivors } = await unlessAborted(deps.stopReplicas(engine), step.signal)
  step.onStopped(stopped)
  if (survivors.length === 0) return
  const fix = 'Nothing was changed. End them, and try again.'
  throw new AppError('conflict', `Some replicas of "${engine}" still run: ${survivors.join(', ')}. ${fix}`)
}
