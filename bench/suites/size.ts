/** The size of the library, and of what its repository installs. One round is enough. */
import { fileURLToPath } from "node:url";
import type { Progress } from "../harness/rounds.ts";
import { type Claim, figure, type Scale, type Section } from "../report/section.ts";
import { bundleBytes, packedBytes, reachedRooms } from "../size/bundle.ts";
import { measureInstalled } from "../size/installed.ts";
import { linesOfFolder } from "../size/lines.ts";

const sources = fileURLToPath(new URL("../../packages/batchwise/src/", import.meta.url));

/** Rooms that belong to the engine, also where `batch` does not reach them. */
const engineRooms = ["core", "padded", "tokens", "decorators"];

function atMost(text: string, measured: number, limit: number, unit: string): Claim {
  return { text: `size: ${text}`, measured, sense: "at most", limit, unit };
}

export async function size(_scale: Scale, progress: Progress): Promise<Section> {
  const bundleKb = (await bundleBytes()) / 1_000;
  const packedKb = packedBytes() / 1_000;
  const rooms = [...new Set([...engineRooms, ...(await reachedRooms())])];
  const lines = new Map([...rooms, "dispatch"].map((room) => [room, linesOfFolder(`${sources}${room}`)]));
  const core = lines.get("core") as number;
  const dispatch = lines.get("dispatch") as number;
  const engine = rooms.reduce((sum, room) => sum + (lines.get(room) as number), 0);
  const { packages, files, bytes } = measureInstalled();
  const megabytes = bytes / 2 ** 20;
  progress("size: counted");
  return {
    title: "Size",
    about: [
      "The bundle is `import { batch }` as esbuild writes it, minified, with gzip. Lines of code are those of `src`, without",
      "comments and blank lines. The engine is core, padded, tokens, decorators and whatever else `batch` reaches. Installed",
      "is what `npm ci` puts on the disk for the repository's root and packages, without the folders that have a lock of",
      "their own.",
    ],
    tables: [
      {
        head: ["what", "size"],
        rows: [
          ["`import { batch }`, minified, gzip", `${figure(bundleKb)} KB`],
          ["the package, packed", `${figure(packedKb)} KB`],
          ...[...lines].map(([room, count]) => [`\`src/${room}\``, `${figure(count)} lines`]),
          [`the engine: ${rooms.join(", ")}`, `${figure(engine)} lines`],
          ["installed packages", figure(packages)],
          ["installed files", figure(files)],
          ["installed", `${figure(megabytes)} MB`],
        ],
      },
    ],
    claims: [
      atMost("`import { batch }`, minified, gzip", bundleKb, 27, "KB"),
      atMost("the package, packed", packedKb, 900, "KB"),
      atMost("core", core, 5_000, "lines"),
      atMost("the engine", engine, 6_000, "lines"),
      atMost("dispatch without its testing", dispatch, 23_000, "lines"),
      atMost("installed packages", packages, 350, ""),
      atMost("installed", megabytes, 900, "MB"),
    ],
  };
}
