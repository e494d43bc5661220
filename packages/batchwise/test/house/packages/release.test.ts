import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { publishRefusalsOf, type Repository, refusalsOf } from "../../../../../scripts/release-checks.ts";
import { root, textOf } from "../repository.ts";

const addresses = {
  repository: { url: "git+https://git.example.org/batchwise.git" },
  homepage: "https://batchwise.example.org",
  bugs: { url: "https://git.example.org/batchwise/issues", email: "security@example.org" },
};

const ready: Repository = {
  changes: [],
  branch: "main",
  tags: ["v0.9.0"],
  current: "0.9.0",
  changelogs: { "a/CHANGELOG.md": "# Changelog\n\n## 0.10.0\n" },
  manifests: { "a/package.json": addresses },
};
const without = (fields: string): string => `Set ${fields} in a/package.json: see "Releasing" in CONTRIBUTING.md.`;

test.each<[string, Partial<Repository>, string, string[]]>([
  ["a ready tree", {}, "0.10.0", []],
  ["changes", { changes: [" M a.ts"] }, "0.10.0", ["The tree has changes that are not committed:  M a.ts."]],
  ["no branch", { branch: "" }, "0.10.0", ["No branch is checked out."]],
  ["a tag of that name", { tags: ["v0.10.0"] }, "0.10.0", ["The tag v0.10.0 exists."]],
  ["no section", { changelogs: { "a.md": "## 0.1.0" } }, "0.10.0", ['a.md has no section "## 0.10.0".']],
  ["no version", { changelogs: {} }, "next", ['Expected a version such as 1.2.3, got "next".']],
  ["the same version", { changelogs: {}, tags: [] }, "0.9.0", ["Expected a version above 0.9.0, got 0.9.0."]],
  [
    "no address",
    { manifests: { "a/package.json": {}, "b/package.json": addresses } },
    "0.10.0",
    [without("`repository.url`, `homepage`, `bugs.url`, `bugs.email`")],
  ],
  [
    "no contact",
    { manifests: { "a/package.json": { ...addresses, bugs: { url: "https://git.example.org/issues", email: "" } } } },
    "0.10.0",
    [without("`bugs.email`")],
  ],
  ["a lower version", { changelogs: {} }, "0.8.9", ["Expected a version above 0.9.0, got 0.8.9."]],
])("with %s a release is refused for these reasons", (_, changed, version, reasons) => {
  expect(refusalsOf(version, { ...ready, ...changed })).toEqual(reasons);
});

test.each([
  ["the tagged commit", {}, []],
  ["changes", { changes: [" M a.ts"] }, ["The tree has changes that are not committed:  M a.ts."]],
  [
    "another commit",
    { tagsHere: ["v0.9.0"] },
    ["The commit that is checked out is not v1.0.0: make it with `npm run release`, or check it out."],
  ],
  ["no homepage", { manifests: { "a/package.json": { ...addresses, homepage: "" } } }, [without("`homepage`")]],
])("from %s publishing is refused for these reasons", (_, changed, reasons) => {
  const checkout = { changes: [], tagsHere: ["v1.0.0"], manifests: { "a/package.json": addresses } };
  expect(publishRefusalsOf("1.0.0", { ...checkout, ...changed })).toEqual(reasons);
});

/**
 * A repository with the scripts of this one and both packages, whose build copies `src.js` of each
 * into its dist.
 */
class Clone {
  readonly folder = mkdtempSync(join(tmpdir(), "batchwise-release-"));

  constructor() {
    onTestFinished(() => rmSync(this.folder, { recursive: true }));
    cpSync(`${root}scripts`, join(this.folder, "scripts"), { recursive: true });
    this.write(".gitignore", "dist/\n");
    const build =
      'for f in packages/*; do rm -rf "$f/dist" && mkdir -p "$f/dist/a" && cp "$f/src.js" "$f/dist/a/"; done';
    this.write("package.json", JSON.stringify({ type: "module", scripts: { build } }));
    for (const name of ["batchwise", "server"]) {
      mkdirSync(join(this.folder, "packages", name), { recursive: true });
      this.write(`packages/${name}/package.json`, JSON.stringify({ version: "0.1.0", ...addresses }));
      this.write(`packages/${name}/CHANGELOG.md`, "## 0.2.0\n");
      this.write(`packages/${name}/src.js`, "1;\n");
    }
    this.git("init", "--quiet", "--initial-branch=main");
    this.git("add", "--all");
    this.git("commit", "--quiet", "--message=first");
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.folder, path), text);
  }

  git(...args: readonly string[]): string {
    const author = ["-c", "user.name=a", "-c", "user.email=a@b"];
    return execFileSync("git", [...author, ...args], { cwd: this.folder, encoding: "utf8" });
  }

  run(script: string, { args = [], from = "." }: { args?: readonly string[]; from?: string } = {}): object {
    const cwd = join(this.folder, from);
    const file = join(this.folder, "scripts", script);
    const { status, stderr } = spawnSync(process.execPath, [file, ...args], { cwd, encoding: "utf8" });
    return { status, stderr };
  }
}

test("the release script refuses a dirty tree and changes nothing", () => {
  const clone = new Clone();
  clone.write("forgotten.ts", "");
  expect(clone.run("release.ts", { args: ["0.2.0"] })).toEqual({
    status: 1,
    stderr: "The tree has changes that are not committed: ?? forgotten.ts.\n",
  });
  expect(clone.git("status", "--porcelain")).toBe("?? forgotten.ts\n");
});

test("the release script names the addresses that a manifest lacks", () => {
  const clone = new Clone();
  clone.write("packages/server/package.json", JSON.stringify({ version: "0.1.0" }));
  clone.git("commit", "--quiet", "--all", "--message=second");
  const { stderr } = clone.run("release.ts", { args: ["0.2.0"] }) as { stderr: string };
  expect(stderr).toBe(
    'Set `repository.url`, `homepage`, `bugs.url`, `bugs.email` in packages/server/package.json: see "Releasing" in CONTRIBUTING.md.\n',
  );
});

test("a package is published only with the dist that the commit of its version builds", () => {
  const clone = new Clone();
  const publish = () => clone.run("before-publish.ts", { from: "packages/batchwise" });
  expect(publish()).toEqual({ status: 1, stderr: expect.stringContaining("is not v0.1.0") });
  clone.git("tag", "v0.1.0");
  const stale = "dist was not what v0.1.0 builds. It is now: run `npm run ci`, then publish again.\n";
  expect(publish()).toEqual({ status: 1, stderr: stale });
  expect(publish()).toEqual({ status: 0, stderr: "" });
  clone.write("packages/batchwise/dist/left-over.js", "");
  expect(publish()).toEqual({ status: 1, stderr: stale });
});

test.each(["batchwise", "server"])("npm runs that check before it publishes %s", (name) => {
  const { scripts } = JSON.parse(textOf(`packages/${name}/package.json`)) as { scripts: Record<string, string> };
  expect(scripts.prepublishOnly).toBe("node ../../scripts/before-publish.ts");
});
