// Parses Prometheus' text format.

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export function samplesIn(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    const {
      name,
      labels = "",
      value,
    } = /^(?<name>[a-zA-Z_:][\w:]*)(?:\{(?<labels>.*)\})? (?<value>\S+)$/.exec(line)?.groups ?? {};
    if (name === undefined || value === undefined) continue;
    samples.push({ name, labels: labelsIn(labels), value: value === "+Inf" ? Infinity : Number(value) });
  }
  return samples;
}

function labelsIn(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/(?<key>\w+)="(?<value>(?:[^"\\]|\\.)*)"/g)];
  return Object.fromEntries(pairs.map(({ groups }) => [groups?.key ?? "", groups?.value ?? ""]));
}
