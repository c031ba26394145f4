/** The names of events in a text. */
export const patternsOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/** A secret as the service makes them: 256 random bits. */
export function newSecret(random: Pick<Crypto, "getRandomValues">): string {
  const bytes = random.getRandomValues(new Uint8Array(32));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}
