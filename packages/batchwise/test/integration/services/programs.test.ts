// Finding and installing the servers' programs, on machines made of folders and a script in the
// place of apt-get.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { folderOf, type Machine } from "./programs.ts";

const root = mkdtempSync(join(tmpdir(), "batchwise-programs-"));
afterAll(() => rmSync(root, { recursive: true }));

const wanted = { programs: ["one-server", "one-init"], packages: ["one"], what: "a server of kind one" };
const refusal = "This needs a server of kind one: install it (Debian: one) and run it again.";

let machines = 0;
let folder: string;
let machine: Machine;
beforeEach(() => {
  machines += 1;
  folder = join(root, String(machines));
  mkdirSync(folder);
  machine = { folders: [folder], isRoot: true, policyFile: join(folder, "policy") };
});

function program(name: string, script = "exit 0", at = folder): void {
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/**
 * A script that records its arguments and whether the policy file exists, and then runs `script`.
 */
function aptGet(script: string): void {
  program(
    "apt-get",
    `echo "$@" >> ${folder}/calls; test -e ${folder}/policy && echo kept >> ${folder}/calls; ${script}`,
  );
}

function calls(): string {
  const file = join(folder, "calls");
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

test("the folder that has all of the programs is taken, and nothing is installed", () => {
  aptGet("exit 1");
  program("one-init");
  program("one-init", "exit 0", join(folder, "v1/bin"));
  program("one-server", "exit 0", join(folder, "v1/bin"));
  expect(folderOf({ ...wanted, folders: [join(folder, "*/bin")] }, machine)).toBe(join(folder, "v1/bin"));
  expect(calls()).toBe("");
});

test("a missing program is installed, without starting its service", () => {
  const made = wanted.programs.map((name) => `cp ${folder}/apt-get ${folder}/${name}`).join("; ");
  aptGet(`case "$*" in *install*) ${made};; esac`);
  expect(folderOf(wanted, machine)).toBe(folder);
  const lock = "-o DPkg::Lock::Timeout=120";
  expect(calls()).toBe(`update -qq\nkept\n${lock} install -y -qq --no-install-recommends one\nkept\n`);
  expect(existsSync(machine.policyFile)).toBe(false);
});

test("a policy that was there before stays as it was", () => {
  aptGet("exit 0");
  writeFileSync(machine.policyFile, "of somebody else");
  expect(() => folderOf(wanted, machine)).toThrow(refusal);
  expect(readFileSync(machine.policyFile, "utf8")).toBe("of somebody else");
});

test("without apt-get it throws, and names the package to install", () => {
  expect(() => folderOf(wanted, machine)).toThrow(refusal);
});

test("a user who is not root gets the package to install, and apt-get is not called", () => {
  aptGet("exit 0");
  expect(() => folderOf(wanted, { ...machine, isRoot: false })).toThrow(refusal);
  expect(calls()).toBe("");
});

test("an apt-get that fails is the cause, and no policy stays behind", () => {
  aptGet('echo "no network" >&2; exit 100');
  const attempt = (): string => folderOf(wanted, machine);
  expect(attempt).toThrow(refusal);
  expect(attempt).toThrow(
    expect.objectContaining({ cause: expect.objectContaining({ message: expect.stringContaining("no network") }) }),
  );
  expect(existsSync(machine.policyFile)).toBe(false);
});
