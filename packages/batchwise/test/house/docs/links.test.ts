import { existsSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import { filesMatching, root, textOf } from "../repository.ts";

const pages = filesMatching("*.md", "docs/**/*.md", "{packages,examples,bench,compat}/**/*.md");

/**
 * Written by `npm run bench`, `bench:dispatch` and `bench:target`, and not there before that.
 */
const generated = ["", "-dispatch", "-servers", "-target"].map((of) => `docs/benchmarks${of}.md`);

interface Link {
  readonly file: string;
  readonly anchor: string | undefined;
}

/** The links of a page that lead into the repository. */
function linksIn(page: string, markdown: string): Link[] {
  const prose = markdown.replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/`[^`\n]*`/g, "");
  const targets = [...prose.matchAll(/\]\((?<target>[^()\s]+)\)/g)].map(({ groups }) => groups?.target ?? "");
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = "", anchor] = target.split("#");
      return { file: path === "" ? page : posix.join(posix.dirname(page), path), anchor };
    });
}

/** The anchors of a page's headings, as code hosts form them. */
function anchorsOf(markdown: string): string[] {
  const headings = markdown.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/^#+ (?<text>.+)$/gm);
  return [...headings].map(({ groups }) =>
    (groups?.text ?? "")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

describe("a page's links", () => {
  test("are read from its prose, with their anchors", () => {
    const page = "See [a](a.md#b), [c](#d-e), [f](https://g).\n```md\n[h](h.md)\n```\n";
    expect(linksIn("docs/x.md", page)).toEqual([
      { file: "docs/a.md", anchor: "b" },
      { file: "docs/x.md", anchor: "d-e" },
    ]);
    expect(anchorsOf("# One: `two`, three\n")).toEqual(["one-two-three"]);
  });

  test.each(pages)("lead somewhere: %s", (page) => {
    const broken = linksIn(page, textOf(page)).filter(({ file, anchor }) => {
      if (generated.includes(file)) return false;
      if (!existsSync(root + file)) return true;
      return anchor !== undefined && !anchorsOf(textOf(file)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });
});
