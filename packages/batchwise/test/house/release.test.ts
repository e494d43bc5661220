import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Repository, refusalsOf } from "../../../../scripts/release-checks.ts";
import { root } from "./repository.ts";

const ready: Repository = {
  changes: [],
  branch: "main",
  tags: ["v0.9.0"],
  current: "0.9.0",
  changelogs: { "a/CHANGELOG.md": "# Changelog\n\n## 0.10.0\n" },
};

test.each<[string, Partial<Repository>, string, string[]]>([
  ["a ready tree", {}, "0.10.0", []],
  ["changes", { changes: [" M a.ts"] }, "0.10.0", ["The tree has changes that are not committed:  M a.ts."]],
  ["no branch", { branch: "" }, "0.10.0", ["No branch is checked out."]],
  ["a tag of that name", { tags: ["v0.10.0"] }, "0.10.0", ["The tag v0.10.0 exists."]],
  ["no section", { changelogs: { "a.md": "## 0.1.0" } }, "0.10.0", ['a.md has no section "## 0.10.0".']],
  ["no version", { changelogs: {} }, "next", ['Expected a version such as 1.2.3, got "next".']],
  ["the same version", { changelogs: {}, tags: [] }, "0.9.0", ["Expected a version above 0.9.0, got 0.9.0."]],
  ["a lower version", { changelogs: {} }, "0.8.9", ["Expected a version above 0.9.0, got 0.8.9."]],
])("with %s a release is refused for these reasons", (_, changed, version, reasons) => {
  expect(refusalsOf(version, { ...ready, ...changed })).toEqual(reasons);
});

test("the release script refuses a dirty tree and changes nothing", () => {
  const folder = mkdtempSync(join(tmpdir(), "batchwise-release-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(`${root}scripts`, join(folder, "scripts"), { recursive: true });
  for (const name of ["batchwise", "server"]) {
    mkdirSync(join(folder, "packages", name), { recursive: true });
    writeFileSync(join(folder, "packages", name, "package.json"), '{"version":"0.1.0"}');
    writeFileSync(join(folder, "packages", name, "CHANGELOG.md"), "## 0.2.0\n");
  }
  const git = (...args: readonly string[]): string =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: folder, encoding: "utf8" });
  git("init", "--quiet", "--initial-branch=main");
  git("add", "--all");
  git("commit", "--quiet", "--message=first");
  writeFileSync(join(folder, "forgotten.ts"), "");
  const { status, stderr } = spawnSync(process.execPath, ["scripts/release.ts", "0.2.0"], {
    cwd: folder,
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: "The tree has changes that are not committed: ?? forgotten.ts.\n",
  });
  expect(git("status", "--porcelain")).toBe("?? forgotten.ts\n");
});
