// Finds the files from which threads of this library start.

/**
 * The URL of `file` (without its extension) beside the module whose `import.meta.url` is `here`.
 * Uses the extension of that module: .ts if Node.js runs the sources, .js in a build. Throws if a
 * bundler has put the library into a CommonJS file, because then the library's own files cannot be
 * located.
 */
export function fileBeside(here: string, file: string): URL {
  if (here === "") {
    throw new Error(
      "Threads start from files of batchwise, which cannot be found from inside a bundle: leave `batchwise` out of the bundle (external)",
    );
  }
  return new URL(`./${file}${here.slice(here.lastIndexOf("."))}`, here);
}
