// Where the files are that threads of this library start from.

/**
 * The URL of `file` (without its extension) beside the module whose `import.meta.url` is `here`. It
 * has the extension of that module: .ts when Node.js runs the sources, .js once they are built.
 * Throws where a bundler has put the library into a CommonJS file: then nothing says where the
 * library's own files are.
 */
export function fileBeside(here: string, file: string): URL {
  if (here === "") {
    throw new Error(
      "Threads start from files of batchwise, which cannot be found from inside a bundle: leave `batchwise` out of the bundle (external)",
    );
  }
  return new URL(`./${file}${here.slice(here.lastIndexOf("."))}`, here);
}
