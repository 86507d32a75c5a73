import type { ReactNode } from 'react'

/** The heading of the column with what can be done: only screen readers hear it. */
export function ActionsHead(): ReactNode {
  return (
    <th scope="col">
      <span className="visually-hidden">Actions</span>
    </th>
  )
}
