/**
 * The processes that the inference benchmark starts. Those still running when it ends are ended
 * with it, by their ids.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

const running = new Set<ChildProcess>();

/** `child`, which ends with this process, unless this one ends by SIGKILL. */
export function owned<Child extends ChildProcess>(child: Child): Child {
  if (running.size === 0) watchOwnEnd();
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

/** Calls `end`, which ends the child; resolves when it has ended. */
export async function ended(child: ChildProcess, end: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  end();
  await exit;
}

let isWatching = false;

function watchOwnEnd(): void {
  if (isWatching) return;
  isWatching = true;
  process.once("exit", () => {
    for (const child of running) child.kill("SIGKILL");
  });
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const) {
    process.once(signal, () => process.exit(code));
  }
}
