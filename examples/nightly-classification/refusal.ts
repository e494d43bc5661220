// A reason not to go on that its sentence alone explains: it is shown without a stack, and the example ends with 1.

export class Refusal extends Error {}
