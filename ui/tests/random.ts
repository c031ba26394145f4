/** Numbers that look random and are the same in every run. */

export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** From 0 to 1 (mulberry32). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  /** Text with what makes codecs fail: spaces, quotation marks, separators, other scripts. */
  text(most = 8): string {
    const letters = [..."abcXYZ019 .,:;=\"'\\/&?#%+-_é–ß日🙂\u200f\n\t[]{}"];
    return Array.from({ length: this.below(most + 1) }, () => this.pick(letters)).join("");
  }
}
