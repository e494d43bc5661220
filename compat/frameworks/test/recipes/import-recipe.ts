// Imports a recipe of docs/recipes.md as a module: writes its blocks to a folder that is removed at
// the end of the test file.

import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { scratchFolder } from "../../../../packages/batchwise/test/house/repository.ts";
import { afterEachFile } from "../../../../scripts/after-tests.ts";
import { blocksOf, home, writePrismaClient, writeRecipe } from "../../recipes.ts";

const folders: string[] = [];

afterEachFile(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/**
 * Imports the last block of a section, which may import earlier ones. `Exports`: the type of the
 * block's exports.
 */
export async function importRecipe<Exports>(heading: string): Promise<Exports> {
  const folder = scratchFolder("recipe", home);
  folders.push(folder);
  writeRecipe(heading, folder);
  return (await import(pathToFileURL(folder + blocksOf(heading).at(-1)?.file).href)) as Exports;
}

/** The client that Prisma generates from the page's schema. */
export async function importPrismaClient<Exports>(): Promise<Exports> {
  const folder = scratchFolder("prisma", home);
  folders.push(folder);
  writePrismaClient(folder);
  return (await import(pathToFileURL(`${folder}generated/client.ts`).href)) as Exports;
}

/** Waits for at most the time limit of the test. */
export async function until(happened: () => boolean): Promise<void> {
  while (!happened()) await sleep(5);
}
