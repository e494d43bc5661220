// The site: the repository's own pages, and a reference of the public names below api/. build.ts
// puts them into made/pages under their paths in the repository, so that their links work.

import { defineConfig } from "vitepress";
import { sidebar } from "../sidebar.ts";

export default defineConfig({
  title: "batchwise",
  description: "Single requests come in, full batches go out, every caller gets its own answer.",
  srcDir: "made/pages",
  outDir: "dist",
  cacheDir: ".cache",
  cleanUrls: true,
  rewrites: { "README.md": "index.md" },
  // Links to files that are not pages lead to the repository, and to no page of the site.
  ignoreDeadLinks: [(url) => /\.(?:ts|js|json|css|mjs|jsonl)$|LICENSE$|\/src\//.test(url) || url.endsWith("/")],
  // The search index is one file: it holds every page.
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    search: { provider: "local" },
    nav: [
      { text: "Get started", link: "/docs/getting-started" },
      { text: "Recipes", link: "/docs/recipes" },
      { text: "Reference", link: "/api/" },
    ],
    sidebar,
    outline: { level: [2, 3] },
  },
});
