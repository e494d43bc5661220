import { availableParallelism } from "node:os";
import { availableCores } from "batchwise/onnx";
import { expect, test } from "vitest";

function files(contents: Readonly<Record<string, string>>): (path: string) => string {
  return (path) => {
    const text = contents[path];
    if (text === undefined) throw new Error(`ENOENT: ${path}`);
    return text;
  };
}

const OWN = "/proc/self/cgroup";
const ROOT = "/sys/fs/cgroup";
const SERVICE = "/system.slice/batchwise.service";
const V2 = "/sys/fs/cgroup/cpu.max";
const QUOTA = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us";
const PERIOD = "/sys/fs/cgroup/cpu/cpu.cfs_period_us";

test.each([
  ["a container of two of its cores", { [V2]: "200000 100000\n" }, 2],
  ["a container of one and a half", { [V2]: "150000 100000" }, 1],
  ["a container of a tenth of a core", { [V2]: "10000 100000" }, 1],
  ["a container without a limit", { [V2]: "max 100000" }, 8],
  ["a container of more than there are", { [V2]: "1600000 100000" }, 8],
  ["an older kernel's container of three", { [QUOTA]: "300000\n", [PERIOD]: "100000\n" }, 3],
  ["an older kernel's container without a limit", { [QUOTA]: "-1", [PERIOD]: "100000" }, 8],
  ["a service of systemd of two", { [OWN]: `0::${SERVICE}`, [`${ROOT}${SERVICE}/cpu.max`]: "200000 100000" }, 2],
  ["a slice of three", { [OWN]: `0::${SERVICE}`, [`${ROOT}/system.slice/cpu.max`]: "300000 100000" }, 3],
  [
    "a group of two in one of four",
    {
      [OWN]: `1:name=systemd:/else\n0::${SERVICE}\n`,
      [`${ROOT}${SERVICE}/cpu.max`]: "200000 100000",
      [`${ROOT}/system.slice/cpu.max`]: "400000 100000",
    },
    2,
  ],
  [
    "a group of four in one of two",
    {
      [OWN]: `0::${SERVICE}\n`,
      [`${ROOT}${SERVICE}/cpu.max`]: "400000 100000",
      [`${ROOT}/system.slice/cpu.max`]: "200000 100000",
    },
    2,
  ],
  ["a container whose group is named as the host sees it", { [OWN]: "0::/docker/1f\n", [V2]: "200000 100000" }, 2],
  [
    "an older kernel's group of two",
    {
      [OWN]: "9:cpuset:/\n4:cpu,cpuacct:/jobs/one\n1:name=systemd:/else\n",
      [`${ROOT}/cpu/jobs/one/cpu.cfs_quota_us`]: "-1",
      [`${ROOT}/cpu/jobs/one/cpu.cfs_period_us`]: "100000",
      [`${ROOT}/cpu/jobs/cpu.cfs_quota_us`]: "200000",
      [`${ROOT}/cpu/jobs/cpu.cfs_period_us`]: "100000",
    },
    2,
  ],
  ["no container at all", {}, 8],
  ["a file that says something else", { [V2]: "plenty" }, 8],
])("of eight cores a process uses, in %s: %o, %d", (_, contents, cores) => {
  expect(availableCores(8, files(contents as Record<string, string>))).toBe(cores);
});

test("on this machine it is between one and all of the cores", () => {
  expect(availableCores()).toBeGreaterThanOrEqual(1);
  expect(availableCores()).toBeLessThanOrEqual(availableParallelism());
});
