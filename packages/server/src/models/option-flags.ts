/**
 * Replaces option names in the library's messages by the flags of the command.
 */

const FLAGS: Readonly<Record<string, string>> = {
  batchAnyway: "--batch-anyway",
  maxTokens: "--max-tokens",
  pooling: "--pooling",
  tokenizer: "--tokenizer",
};

export function withFlags(message: string): string {
  return message.replace(
    /`(batchAnyway|maxTokens|pooling|tokenizer)`/g,
    (quoted, name: string) => FLAGS[name] ?? quoted,
  );
}
