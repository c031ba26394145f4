import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

import { budget } from "./scripts/budget.ts";

/** Where `tenuto dev` listens while the pages are developed. */
const service = process.env["TENUTO_URL"] ?? "http://127.0.0.1:8484";
const proxied = { target: service, changeOrigin: true };

/** Parts of many pages; what the page of a widget has too stays in files of its own. */
const isShared = (id: string): boolean => /\/src\/(core|kit)\/|\/lucide-react\//.test(id) && !/\/core\/(format|json|widget)\.ts$/.test(id);

export default defineConfig({
  // Relative, so that the same files are served under any path: index.html has the base.
  base: "./",
  plugins: [react(), budget({ kilobytes: 200 })],
  build: {
    outDir: "../src/tenuto/api/ui/assets",
    emptyOutDir: true,
    target: "es2022",
    sourcemap: false,
    // A data: URL would need an exception in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Widgets are shown in frames of other sites: a page of its own, which loads nothing of the rest.
    rollupOptions: {
      input: ["index.html", "widget.html"],
      // What several pages share is one file: each file more is a request before a page is shown.
      output: { codeSplitting: { groups: [{ name: "shared", test: isShared, minShareCount: 6, maxModuleSize: 10_000 }] } },
    },
  },
  worker: { format: "es" },
  server: {
    port: 5173,
    proxy: {
      "/api": proxied,
      "/ws": { ...proxied, ws: true },
      "/health": proxied,
      "/docs": proxied,
    },
  },
});
