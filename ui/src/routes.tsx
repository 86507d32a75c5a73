import { lazy, Suspense, type ReactNode } from 'react'
import { Route, Switch } from 'wouter'
import { AccessPage } from './pages/access/access-page.tsx'
import { FleetPage } from './pages/fleet/fleet-page.tsx'
import { LogsPage } from './pages/logs/logs-page.tsx'
import { ModelPage } from './pages/models/model-page.tsx'
import { ModelsPage } from './pages/models/models-page.tsx'
import { NodePage } from './pages/nodes/node-page.tsx'
import { NodesPage } from './pages/nodes/nodes-page.tsx'
import { PlaygroundPage } from './pages/playground/playground-page.tsx'
import { SignInPage } from './pages/sign-in/sign-in-page.tsx'
import { NotFoundPage } from './pages/not-found-page.tsx'
import { WhyModelPage } from './pages/why/why-model-page.tsx'
import { WhyNodePage } from './pages/why/why-node-page.tsx'
import { WhyPage } from './pages/why/why-page.tsx'
import { WhyRequestPage } from './pages/why/why-request-page.tsx'
import { Spinner } from './parts/spinner.tsx'
import { partOf } from './shell/raw-location.ts'
import { Shell } from './shell/shell.tsx'
import { useSession } from './shell/session.tsx'

// Forms check what is typed with the schemas of the API, which are the largest part of the page that others do without.
const ModelFormPage = lazy(async () => ({
  default: (await import('./pages/models/model-form-page.tsx')).ModelFormPage,
}))
const RulesPage = lazy(async () => ({ default: (await import('./pages/rules/rules-page.tsx')).RulesPage }))

/** Which page stands at which address. */
export function Routes(): ReactNode {
  const { isSignedIn } = useSession()
  return (
    <Switch>
      <Route path="/sign-in">
        <SignInPage />
      </Route>
      {/* Whoever may ask for inference may try it: on this machine without signing in. */}
      <Route path="/playground">
        <Shell>
          <PlaygroundPage />
        </Shell>
      </Route>
      <Route>{isSignedIn ? <SignedInRoutes /> : <SignInPage />}</Route>
    </Switch>
  )
}

function SignedInRoutes(): ReactNode {
  return (
    <Shell>
      <Suspense fallback={<Spinner label="Getting the page…" />}>
        <Switch>
          <Route path="/" component={FleetPage} />
          <Route path="/nodes" component={NodesPage} />
          <Route path="/nodes/:id">{({ id }) => <NodePage key={id} id={partOf(id)} />}</Route>
          <Route path="/models" component={ModelsPage} />
          <Route path="/add-model">
            <ModelFormPage />
          </Route>
          <Route path="/models/:name">{({ name }) => <ModelPage key={name} name={partOf(name)} />}</Route>
          <Route path="/models/:name/edit">{({ name }) => <ModelFormPage key={name} name={partOf(name)} />}</Route>
          <Route path="/rules" component={RulesPage} />
          <Route path="/why" component={WhyPage} />
          <Route path="/why/models/:name">{({ name }) => <WhyModelPage key={name} name={partOf(name)} />}</Route>
          <Route path="/why/nodes/:id">{({ id }) => <WhyNodePage key={id} id={partOf(id)} />}</Route>
          <Route path="/why/requests/:id">{({ id }) => <WhyRequestPage key={id} id={partOf(id)} />}</Route>
          <Route path="/logs/:node/:logKey">
            {({ node, logKey }) => <LogsPage key={`${node} ${logKey}`} nodeId={partOf(node)} logKey={partOf(logKey)} />}
          </Route>
          <Route path="/access" component={AccessPage} />
          <Route component={NotFoundPage} />
        </Switch>
      </Suspense>
    </Shell>
  )
}
