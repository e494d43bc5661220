// Each folder with its own lock says which of its packages may run a script at their installation.

import { expect, test } from "vitest";
import { folders } from "../../../../../scripts/folders.ts";
import { textOf } from "../repository.ts";

interface Lock {
  readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean }>>;
}

const read = (path: string): unknown => JSON.parse(textOf(path));

test.each([".", ...folders])("%s names each of its packages with an install script in `allowScripts`", (folder) => {
  const { packages } = read(`${folder}/package-lock.json`) as Lock;
  const scripted = Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length));
  const { allowScripts } = read(`${folder}/package.json`) as { readonly allowScripts?: object };
  expect(allowScripts).toBeDefined();
  expect(scripted.filter((name) => !Object.hasOwn(allowScripts ?? {}, name))).toEqual([]);
});
