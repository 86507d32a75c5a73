/** The first page: which models answer, and a place to try one. Plain JavaScript, served as it is. */

const byId = (id) => document.getElementById(id)
const baseUrl = `${location.origin}/v1`
/** What is said of a model that no replica serves. */
const STATES = { starting: 'loading', failed: 'could not be started', stopped: 'loaded when it is asked' }
let known = ''

byId('base-url').textContent = baseUrl
byId('chat').addEventListener('submit', (event) => {
  event.preventDefault()
  void ask(byId('model').value, byId('message').value)
})
byId('model').addEventListener('change', showCurl)
byId('message').addEventListener('input', showCurl)
for (;;) {
  await showModels()
  await showNotice()
  await new Promise((resolve) => setTimeout(resolve, 2000))
}

async function showModels() {
  let models
  try {
    const response = await fetch('/v1/models')
    if (!response.ok) throw new Error(await errorOf(response))
    models = (await response.json()).data
  } catch (error) {
    byId('status').textContent = error instanceof TypeError ? 'Flotilla does not answer' : error.message
    known = ''
    return
  }
  const ready = models.filter((model) => model.ready_replicas > 0)
  // One that is not loaded is loaded by its first request.
  const cold = models.filter((model) => model.ready_replicas === 0 && model.state !== 'failed')
  const askable = [...ready, ...cold]
  byId('status').textContent = `${ready.length} of ${models.length} ${models.length === 1 ? 'model' : 'models'} ready`
  // Rebuilt only when something changed, so that an open menu or a selection stays as it is.
  if (JSON.stringify(models) === known) return
  known = JSON.stringify(models)
  byId('models').replaceChildren(...models.map(modelRow))
  const select = byId('model')
  const chosen = select.value
  select.replaceChildren(...askable.map((model) => new Option(model.id, model.id, false, model.id === chosen)))
  select.disabled = askable.length === 0
  byId('send').disabled = askable.length === 0
  showCurl()
}

/** What whoever looks should know at once. */
async function showNotice() {
  const health = await fetch('/readyz')
    .then((response) => response.json())
    .catch(() => undefined)
  const nodes = health?.notes?.frozen
  byId('notice').textContent = nodes
    ? `Most nodes went silent together (${nodes}). Nothing of theirs is replaced until they are back. If they are really lost: flotilla nodes accept-loss`
    : ''
}

function modelRow(model) {
  const row = document.createElement('li')
  const name = document.createElement('span')
  const state = document.createElement('span')
  name.textContent = model.id
  const replicas = model.ready_replicas
  state.textContent =
    replicas === 0
      ? (STATES[model.state] ?? 'not ready')
      : replicas === 1
        ? '1 replica ready'
        : `${replicas} replicas ready`
  state.className = replicas === 0 ? 'waiting' : 'ready'
  row.append(name, state)
  return row
}

function showCurl() {
  const body = JSON.stringify(chatBody(byId('model').value || 'sim', byId('message').value)).replaceAll(
    "'",
    String.raw`'\''`,
  )
  byId('curl').textContent = `curl -N ${baseUrl}/chat/completions -H 'content-type: application/json' -d '${body}'`
}

function chatBody(model, content) {
  return { model, stream: true, messages: [{ role: 'user', content }] }
}

async function ask(model, message) {
  const answer = byId('answer')
  answer.textContent = ''
  answer.className = ''
  byId('send').disabled = true
  try {
    const headers = { 'content-type': 'application/json', 'x-flotilla-wait': 'keep-alive' }
    const response = await fetch('/v1/chat/completions', {
      method: 'POST',
      headers,
      body: JSON.stringify(chatBody(model, message)),
    })
    if (!response.ok) throw new Error(await errorOf(response))
    let text = ''
    for await (const event of eventsOf(response)) {
      if (event.error) throw new Error(event.error.message)
      text += event.choices?.[0]?.delta?.content ?? ''
      answer.textContent = event.comment ?? text
    }
  } catch (error) {
    answer.textContent += `${answer.textContent === '' ? '' : '\n\n'}${error instanceof TypeError ? 'The connection was lost.' : error.message}`
    answer.className = 'error'
  }
  byId('send').disabled = false
}

async function errorOf(response) {
  const body = await response.json().catch(() => undefined)
  return body?.error?.message ?? `Flotilla answered ${response.status}.`
}

/** `: loading model=m state=staging node=thor progress=43`, for a person. */
function loadingText(comment) {
  const at = Object.fromEntries(
    [...comment.matchAll(/ (state|node|progress)=(\S+)/g)].map(([, key, value]) => [key, value]),
  )
  const percent = at.progress === '0' ? '' : `, ${at.progress} %`
  return `The model is being loaded (${at.state}${at.node ? ` on ${at.node}` : ''}${percent}) …`
}

/** The events of a stream, parsed, up to [DONE]; and how far the load is that it waits for. */
async function* eventsOf(response) {
  let text = ''
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (text + chunk).split('\n')
    text = lines.pop()
    for (const line of lines) {
      if (line.startsWith(': loading')) yield { comment: loadingText(line) }
      if (line.startsWith('data: ') && line !== 'data: [DONE]') yield JSON.parse(line.slice('data: '.length))
    }
  }
}
