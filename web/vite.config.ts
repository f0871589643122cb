import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// For `npm run dev`: everything but the page's own files comes from a server that runs already.
const server = process.env.CONDUCTOR_SERVER ?? "http://127.0.0.1:7420";

export default defineConfig({
  plugins: [react()],
  build: { target: "es2022", sourcemap: false, assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: { proxy: { "/api": { target: server, ws: true }, "/open": server } },
});
