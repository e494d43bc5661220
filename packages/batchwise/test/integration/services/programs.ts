// The programs of the servers that tests run: found on this machine, or installed as Debian
// packages. Throws, with advice, if neither is possible: a test that needs a server never passes
// without one.

import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync, globSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";

export interface Wanted {
  /** Programs that must be in one folder. */
  readonly programs: readonly string[];
  /** Folders to search before the machine's. Globs are allowed. */
  readonly folders?: readonly string[];
  readonly packages: readonly string[];
  /** For the message, for example "a Redis server". */
  readonly what: string;
}

/** Where to search for programs, and how to install missing ones. */
export interface Machine {
  readonly folders: readonly string[];
  readonly isRoot: boolean;
  /** The script that Debian packages call before they start a service. */
  readonly policyFile: string;
}

function thisMachine(): Machine {
  return {
    folders: [...(process.env.PATH ?? "").split(delimiter), "/usr/local/bin", "/usr/bin"],
    isRoot: process.getuid?.() === 0,
    policyFile: "/usr/sbin/policy-rc.d",
  };
}

/** The folder with all of the programs; installs them if there is none. */
export function folderOf(wanted: Wanted, machine: Machine = thisMachine()): string {
  const found = find(wanted, machine);
  if (found !== undefined) return found;
  const cause = install(wanted.packages, machine);
  const installed = find(wanted, machine);
  if (installed !== undefined) return installed;
  const { what, packages } = wanted;
  throw new Error(`This needs ${what}: install it (Debian: ${packages.join(" ")}) and run it again.`, { cause });
}

function find({ programs, folders = [] }: Pick<Wanted, "programs" | "folders">, machine: Machine): string | undefined {
  const all = [...folders.flatMap((folder) => globSync(folder)), ...machine.folders];
  return all.find((folder) => programs.every((program) => isProgram(join(folder, program))));
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Installs Debian packages without starting their services. Returns the error if that fails. */
function install(packages: readonly string[], machine: Machine): Error | undefined {
  const folder = find({ programs: ["apt-get"] }, machine);
  if (folder === undefined) return new Error("There is no apt-get here.");
  if (!machine.isRoot) return new Error("Only root can install packages.");
  const environment = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const run = (...args: string[]): void => {
    execFileSync(join(folder, "apt-get"), args, { env: environment, stdio: ["ignore", "ignore", "pipe"] });
  };
  const isOurs = !existsSync(machine.policyFile);
  // Exit code 101 forbids the start.
  if (isOurs) writeFileSync(machine.policyFile, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    run("update", "-qq");
    // Another run may be installing: wait for it.
    run("-o", "DPkg::Lock::Timeout=120", "install", "-y", "-qq", "--no-install-recommends", ...packages);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    if (isOurs) rmSync(machine.policyFile, { force: true });
  }
}
