import type { ReactNode } from 'react'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { useModel } from '../../live/use-live.ts'
import { ButtonLink } from '../../parts/button.tsx'
import { Empty } from '../../parts/notice.tsx'
import { Page, Panel } from '../../parts/page.tsx'
import { ModelForm } from './model-form.tsx'

/** For a new model, or one that there is. */
export function ModelFormPage({ name }: { name?: string }): ReactNode {
  const [params] = useSearchParams()
  const model = useModel(name ?? '')
  // What is removed while it is edited keeps its form: nothing that was typed is lost.
  const [wasThere] = useState(model !== undefined)
  if (name !== undefined && !wasThere && !model) {
    return (
      <Page title={name}>
        <Panel>
          <Empty action={<ButtonLink to="/models">All models</ButtonLink>}>There is no model “{name}”.</Empty>
        </Panel>
      </Page>
    )
  }
  const title = name === undefined ? 'Add a model' : `Edit ${name}`
  return (
    <Page title={title} about="A model is loaded when somebody asks for it, or where its rule says.">
      <ModelForm modelName={name} firstName={params.get('name') ?? ''} />
    </Page>
  )
}
