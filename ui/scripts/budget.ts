import { gzipSync } from "node:zlib";
import type { Plugin, Rollup } from "vite";

/** Fails the build where a page needs more compressed JavaScript than this before it is shown.
 *
 * A page needs the entry, its own file, and what these import; what they load later does not count. */
export function budget({ kilobytes }: { kilobytes: number }): Plugin {
  return {
    name: "budget",
    apply: "build",
    generateBundle(_, bundle) {
      const sizes = new Map<string, number>();
      const files = Object.values(bundle).filter((file) => file.type === "chunk");
      for (const file of files) sizes.set(file.fileName, gzipSync(file.code).length / 1_024);
      const needed = (names: readonly string[]): number =>
        [...closure(names, bundle)].reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
      const entries = files.filter((file) => file.isEntry).map((file) => file.fileName);
      const pages = files.filter((file) => /\/pages\/[^/]+\/\w+\.tsx$/.test(file.facadeModuleId ?? ""));
      const totals = pages.map((page) => ({ page: page.facadeModuleId?.split("/pages/")[1] ?? "", size: needed([...entries.slice(0, 1), page.fileName]) }));
      const largest = totals.sort((one, other) => other.size - one.size)[0];
      if (largest === undefined) return;
      const words = `${largest.page} needs ${largest.size.toFixed(0)} KB of compressed JavaScript, of ${kilobytes}`;
      if (largest.size > kilobytes) this.error(`${words}: load its large parts when they are first shown`);
      this.info(words);
    },
  };
}

function closure(names: readonly string[], bundle: Rollup.OutputBundle): Set<string> {
  const found = new Set<string>();
  const visit = (name: string) => {
    if (found.has(name)) return;
    found.add(name);
    const file = bundle[name];
    if (file?.type === "chunk") file.imports.forEach(visit);
  };
  names.forEach(visit);
  return found;
}
