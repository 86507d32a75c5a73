import { Plus } from 'lucide-react'
import { useMemo, useState, type ReactNode } from 'react'
import { useModels, useNodes, useReplicas, useTraffic } from '../../live/use-live.ts'
import { ButtonLink } from '../../parts/button.tsx'
import { Empty } from '../../parts/notice.tsx'
import { Page, Panel } from '../../parts/page.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { memoryPerReplica } from './model-memory.ts'
import { findModels, sortModels, type ModelOrder } from './model-order.ts'
import { ModelsTable } from './models-table.tsx'

export function ModelsPage(): ReactNode {
  const models = useModels()
  const replicas = useReplicas()
  const traffic = useTraffic()
  const hasGpu = useNodes().some(({ devices }) => devices.length > 0)
  const [query, setQuery] = useState('')
  const [order, setOrder] = useState<ModelOrder>({ column: 'name', isDescending: false })
  const byModel = useMemo(() => Map.groupBy(replicas, ({ model_name: name }) => name), [replicas])
  const lines = findModels(models, query).map((model) => ({
    model,
    memory: memoryPerReplica(model, byModel.get(model.name) ?? [], hasGpu),
    traffic: Object.hasOwn(traffic.models, model.name) ? traffic.models[model.name] : undefined,
  }))
  const add = (
    <ButtonLink to="/add-model" tone="primary" icon={Plus}>
      Add a model
    </ButtonLink>
  )
  if (models.length === 0) {
    return (
      <Page title="Models">
        <Panel>
          <Empty action={add}>There are no models yet. One that is added is loaded when somebody asks for it.</Empty>
        </Panel>
      </Page>
    )
  }
  return (
    <Page
      title="Models"
      about={`${models.filter(({ state }) => state === 'ready').length} of ${models.length} ready to answer`}
      actions={
        <>
          <SearchField label="Find a model" value={query} onChange={setQuery} />
          {add}
        </>
      }
    >
      <Panel flush>
        {lines.length === 0 ? (
          <Empty>No model has that in its name, engine or source.</Empty>
        ) : (
          <ModelsTable lines={sortModels(lines, order)} byModel={byModel} order={order} onOrder={setOrder} />
        )}
      </Panel>
    </Page>
  )
}
