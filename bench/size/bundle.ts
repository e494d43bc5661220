/**
 * The bundle of `import { batch }`, its size for an application and the sources that it reaches;
 * and the size of the package as npm would publish it.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type OutputFile } from "esbuild";

const root = fileURLToPath(new URL("../../", import.meta.url));
const sources = `${root}packages/batchwise/src/`;

const shared = { bundle: true, platform: "browser", format: "esm", write: false } as const;

/** Bytes of the built package's `batch`, minified and compressed. */
export async function bundleBytes(): Promise<number> {
  const contents = 'export { batch } from "batchwise";';
  const { outputFiles } = await build({
    ...shared,
    minify: true,
    stdin: { contents, resolveDir: `${root}packages/server` },
  });
  const [bundle] = outputFiles as [OutputFile];
  return gzipSync(bundle.contents, { level: 9 }).length;
}

/** The folders of `src` of which the sources of `batch` need code, sorted. Types do not count. */
export async function reachedRooms(): Promise<readonly string[]> {
  const contents = 'export { batch } from "./index.ts";';
  const options = { ...shared, metafile: true, absWorkingDir: sources } as const;
  const { metafile } = await build({ ...options, stdin: { contents, resolveDir: sources } });
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  const rooms = inputs.flatMap(([file, { bytesInOutput }]) => {
    const [room = "", ...path] = file.split("/");
    return bytesInOutput > 0 && path.length > 0 ? [room] : [];
  });
  return [...new Set(rooms)].sort();
}

/** Bytes of the packed package. */
export function packedBytes(): number {
  const args = ["pack", "./packages/batchwise", "--dry-run", "--ignore-scripts", "--json"];
  const text = execFileSync("npm", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const [packed] = Object.values(JSON.parse(text) as Readonly<Record<string, { size: number }>>);
  return packed?.size ?? Number.NaN;
}
