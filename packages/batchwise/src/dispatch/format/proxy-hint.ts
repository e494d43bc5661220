// Explains failed connections if the environment names a proxy: Node.js uses it only on request,
// and older releases never do. Never shows the proxy's address, which may hold a password. Pure,
// given the platform.

/** The facts about the platform that the hint depends on. */
export interface Platform {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The Node.js version, such as "24.9.0"; null on other platforms. */
  readonly version: string | null;
  /** Command-line options of Node.js. */
  readonly options: readonly string[];
}

interface Process {
  readonly env?: Platform["environment"];
  readonly versions?: { readonly node?: string };
  readonly execArgv?: readonly string[];
}

export function thisPlatform(): Platform {
  const { process } = globalThis as { readonly process?: Process };
  return {
    environment: process?.env ?? {},
    version: process?.versions?.node ?? null,
    options: process?.execArgv ?? [],
  };
}

const NAMES = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"] as const;
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/i;

/**
 * The hint for a failed connection to `host`, or null if no proxy is involved. `host` null:
 * unknown.
 */
export function proxyHint(host: string | null, { environment, version, options }: Platform): string | null {
  const name = NAMES.find((each) => (environment[each] ?? "") !== "");
  if (name === undefined || version === null || (host !== null && LOOPBACK.test(host))) return null;
  if (host !== null && (isExempt(host, environment) || hostOf(environment[name] as string) === host)) return null;
  if (!knowsProxies(version)) {
    return `${name} is set, and Node.js ${version} does not use it: give the client undici's ProxyAgent`;
  }
  const isOn =
    environment.NODE_USE_ENV_PROXY === "1" ||
    [...options, environment.NODE_OPTIONS ?? ""].some((option) => option.includes("--use-env-proxy"));
  return isOn ? null : `${name} is set, and Node.js ${version} uses it only with NODE_USE_ENV_PROXY=1`;
}

/** True from 22.21 on, except 23, and from 24.0 on. */
function knowsProxies(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major >= 24 || (major === 22 && minor >= 21);
}

/** Reads NO_PROXY: names, their subdomains, or `*`. */
function isExempt(host: string, environment: Platform["environment"]): boolean {
  const entries = (environment.NO_PROXY ?? environment.no_proxy ?? "").split(/[\s,]+/).filter((entry) => entry !== "");
  return entries.some((entry) => {
    const name = entry.replace(/^\*?\./, "");
    return entry === "*" || host === name || host.endsWith(`.${name}`);
  });
}

function hostOf(address: string): string | null {
  return URL.canParse(address) ? new URL(address).hostname : null;
}
