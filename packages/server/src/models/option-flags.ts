/**
 * The library's messages name its options; whoever runs the command knows them as flags.
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
