// The documentation as a site: the pages of docs as they stand, in the order of docs/README.md. A link that leads nowhere
// ends the build. Files outside docs that a page points at become part of the site.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const repository = resolve(here, '../../..')
const docs = join(repository, 'docs')
const out = join(repository, 'dist/site')

// The build wants its pages where its own modules are found from, so it gets a copy, without the comments of generators.
const pages = join(here, '../pages')
rmSync(pages, { recursive: true, force: true })
for (const file of readdirSync(docs, { recursive: true }).filter((f) => f.endsWith('.md'))) {
  mkdirSync(dirname(join(pages, file)), { recursive: true })
  writeFileSync(join(pages, file), readFileSync(join(docs, file), 'utf8').replace(/^<!--.*-->\s*/, ''))
}

// Anchors are those that a forge makes, so that a link holds in both places.
const slugify = (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')

// title is the heading of a page up to a colon: what follows it would only be in the way of who looks for a page.
const title = (file) => readFileSync(join(docs, file), 'utf8').match(/^# (?:\d+\. )?([^:\n]*)/m)?.[1] ?? file

// sidebar reads the sections of docs/README.md: a heading, and a list of links below it. The folder of a page, or of the name of
// one, stands below it.
function sidebar() {
  const sections = []
  for (const line of readFileSync(join(docs, 'README.md'), 'utf8').split('\n')) {
    const heading = line.match(/^## (.*)$/)
    const link = line.match(/^- \[(.*)\]\((.*)\.md\)$/)
    if (heading) sections.push({ text: heading[1], items: [] })
    if (!link) continue
    const item = { text: title(link[2] + '.md'), link: '/' + link[2].replace(/README$/, '') }
    const folder = link[2].replace(/\/README$/, '')
    if (existsSync(join(docs, folder)) && statSync(join(docs, folder)).isDirectory()) {
      item.collapsed = true
      item.items = readdirSync(join(docs, folder)).filter((f) => f.endsWith('.md') && f !== 'README.md').sort()
        .map((f) => ({ text: title(join(folder, f)), link: '/' + join(folder, f.slice(0, -3)) }))
    }
    sections.at(-1).items.push(item)
  }
  return sections
}

// Files outside docs that some page points at, to be copied into the site.
const files = new Set()

// outside turns a link to a file that leaves docs into one to the copy; any other is left, and found to be dead.
function outside(md) {
  const open = md.renderer.rules.link_open ?? ((tokens, i, options, _, self) => self.renderToken(tokens, i, options))
  md.renderer.rules.link_open = (tokens, i, options, env, self) => {
    const [to, anchor] = (tokens[i].attrGet('href') ?? '').split('#')
    if (to && !/^[a-z]+:|^\//.test(to)) {
      const target = resolve(docs, dirname(env.relativePath), to)
      const name = relative(repository, target)
      if (relative(docs, target).startsWith('..') && statSync(target, { throwIfNoEntry: false })?.isFile()) {
        files.add(name)
        tokens[i].attrSet('href', 'https://repository.invalid/' + name + (anchor ? '#' + anchor : ''))
      }
    }
    return open(tokens, i, options, env, self)
  }
}

export default {
  title: 'homelab-autoscaler',
  description: 'Switches physical machines on when pods need them, and off when they do not',
  lang: 'en',
  srcDir: pages,
  outDir: out,
  cacheDir: join(repository, 'dist/.vitepress-cache'),
  cleanUrls: true,
  // A flag or a field is one word, in the column that people look it up in.
  head: [['style', {}, '.vp-doc td:first-child code { white-space: nowrap }']],
  rewrites: { 'README.md': 'index.md', ':folder/README.md': ':folder/index.md' },
  // The names in angle brackets that stand in prose are no elements.
  markdown: { anchor: { slugify }, html: false, config: outside },
  themeConfig: {
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: 'local' },
  },
  // What a page points at outside docs is copied beside the pages, and linked there.
  transformHtml: (html, id) => html.replaceAll('https://repository.invalid/', relative(dirname(id), join(out, 'files')) + '/'),
  buildEnd() {
    for (const name of files) {
      mkdirSync(dirname(join(out, 'files', name)), { recursive: true })
      copyFileSync(join(repository, name), join(out, 'files', name))
    }
  },
}
