import { clientOptions, type Command } from '../command.ts'

export const dashboardCommand: Command = {
  name: 'dashboard',
  summary: 'Print a link that signs a browser in to the dashboard',
  about:
    'The link works once, within ten minutes, in any browser. Later the dashboard asks for an admin key, or for another\n' +
    'link.',
  options: clientOptions,
  examples: ['flotilla dashboard', 'flotilla dashboard --url http://frontend:8080'],
}
