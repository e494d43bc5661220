// A disk of a few megabytes that can be filled: a file system in memory, in its own mount
// namespace, so that nothing else sees it and it disappears when its processes end in any way.
// Linux only: as root, or where users may create namespaces; throws elsewhere.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { userInfo } from "node:os";

export interface SmallDisk {
  /** The mounted folder, as this process sees it. */
  readonly path: string;
  /** The command that runs another command with the disk mounted. */
  readonly enter: readonly string[];
  remove(): Promise<void>;
}

/** Mounts the disk on an existing folder, for the user with this id. */
export async function mountSmallDisk(folder: string, megabytes: number, uid: number): Promise<SmallDisk> {
  const isRoot = userInfo().uid === 0;
  const namespaces = isRoot ? ["--mount"] : ["--mount", "--user", "--map-current-user", "--keep-caps"];
  // Holds the namespace until its input ends, which happens when this process ends.
  const script = 'mount -t tmpfs -o "$1" tmpfs "$2" && echo mounted && exec cat >&2';
  const options = `size=${megabytes}m,mode=0700,uid=${uid}`;
  const holder = spawn("unshare", [...namespaces, "sh", "-c", script, "sh", options, folder], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended = once(holder, "close").catch(() => {});
  let said = "";
  holder.stderr.on("data", (text) => {
    said += text;
  });
  const mounted = await Promise.race([once(holder.stdout, "data"), ended.then(() => null)]).catch(() => null);
  if (mounted === null) {
    throw new Error(`The tests need a small disk: run them on Linux as root or with user namespaces. ${said}`.trim());
  }
  const target = ["--target", String(holder.pid), "--mount"];
  return {
    path: `/proc/${holder.pid}/root${folder}`,
    enter: ["nsenter", ...target, ...(isRoot ? [] : ["--user", "--preserve-credentials"])],
    remove: async () => {
      holder.stdin.end();
      await ended;
    },
  };
}
