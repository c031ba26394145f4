/** What the palette offers for a text. */
export interface Choice {
  label: string;
  kind: string;
  keys?: string;
  run: () => void;
}

/** Ids have digits or dashes, and are longer than words of pages. */
const ID = /^[A-Za-z0-9][A-Za-z0-9_.:-]{7,63}$/;

export function choices(all: readonly Choice[], text: string, openId: (id: string) => void): readonly Choice[] {
  const wanted = text.trim();
  const words = wanted.toLowerCase().split(/\s+/);
  const fitting = all.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
  if (!ID.test(wanted) || !/[0-9]/.test(wanted)) return fitting;
  return [{ label: `Open instance ${wanted}`, kind: "Instance", run: () => openId(wanted) }, ...fitting];
}
