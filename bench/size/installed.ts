/** What `npm ci` installed in the repository's root and in its packages. */
import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface Installed {
  readonly packages: number;
  readonly files: number;
  /** Bytes on the disk, in whole blocks. */
  readonly bytes: number;
}

const root = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Counts the packages in the lock that npm writes into node_modules. Hidden folders, such as
 * caches, do not count, and a file with two names counts once. All are NaN if npm wrote no lock.
 */
export function measureInstalled(folder = root): Installed {
  const lock = `${folder}/node_modules/.package-lock.json`;
  if (!existsSync(lock)) return { packages: Number.NaN, files: Number.NaN, bytes: Number.NaN };
  const { packages } = JSON.parse(readFileSync(lock, "utf8")) as { packages: Readonly<Record<string, unknown>> };
  const places = Object.keys(packages).filter((place) => place.includes("node_modules/"));
  const tops = new Set(places.map((place) => place.slice(0, place.indexOf("node_modules/"))));
  const sizes = new Map<number, number>();
  for (const top of tops) addFiles(`${folder}/${top}node_modules`, sizes, (name) => !name.startsWith("."));
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  return { packages: places.length, files: sizes.size, bytes };
}

/**
 * Adds the size of each file in a folder and below it, by its inode. `counts` chooses among the
 * entries of the folder.
 */
function addFiles(folder: string, sizes: Map<number, number>, counts: (name: string) => boolean = () => true): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!counts(entry.name)) continue;
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) addFiles(path, sizes);
    if (!entry.isFile()) continue;
    const { ino, blocks } = lstatSync(path);
    sizes.set(ino, blocks * 512);
  }
}
