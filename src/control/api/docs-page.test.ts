import { expect, test } from 'vitest'
import { adminRoutes } from '../../api/admin/routes.ts'
import { serve } from '../../../test/support/http/http.ts'
import { sendDocs } from './docs-page.ts'

test('the page has every call, every link leads somewhere in it, and nothing runs or comes from elsewhere', async () => {
  const response = await fetch(await serve(sendDocs))
  const html = await response.text()
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  for (const name of Object.keys(adminRoutes)) expect(html).toContain(`<details id="${name}">`)
  const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
  const links = [...html.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id)
  expect(links.filter((id) => !ids.has(id))).toEqual([])
  expect(html).not.toMatch(/<script|src=|https?:\/\/|style="| on\w+="/)
  expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/=]+';/)
})
