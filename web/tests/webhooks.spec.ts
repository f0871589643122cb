// Webhooks that are registered on the page are told, signed, what happens.

import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "@playwright/test";
import { World } from "./world";

let world: World;
let receiver: Server;
let url = "";
const heard: { signed: boolean; body: string }[] = [];

function isSigned(request: IncomingMessage): boolean {
  return Object.keys(request.headers).some((name) => name.includes("signature"));
}

test.beforeAll(async () => {
  world = new World();
  world.write("tasks.yaml", "tasks:\n  - { id: one, run: echo 1 > one.txt }\n");
  await world.serve();
  await world.api("POST", "/api/projects", { directory: world.repository });
  receiver = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      heard.push({ signed: isSigned(request), body });
      response.end("ok");
    });
  });
  await new Promise<void>((ready) => receiver.listen(0, "127.0.0.1", ready));
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/told`;
});

test.afterAll(async () => {
  receiver.close();
  await world.end();
});

test("a webhook is registered, pinged, told of a run, turned off and removed", async ({ page }) => {
  const { paths } = (await world.api("GET", "/api/openapi.json")) as { paths: Record<string, unknown> };
  test.skip(!("/api/projects/{project}/webhooks" in paths), "this server has no webhooks");
  await world.open(page, "/settings/webhooks");
  await page.getByRole("button", { name: "Register a webhook" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Send to").fill("http://example.com/");
  await dialog.getByRole("button", { name: "Register a webhook" }).click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  await dialog.getByLabel("Send to").fill(url);
  await dialog.getByLabel("Events").fill("run_finished");
  await dialog.getByRole("button", { name: "Register a webhook" }).click();
  await expect(page.locator("[data-secret]")).not.toBeEmpty();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Send a ping" }).click();
  await expect(page.getByText("The ping was delivered: 200.")).toBeVisible();
  expect(heard.map((one) => one.signed)).toEqual([true]);
  await page.getByRole("button", { name: "Deliveries" }).click();
  world.conductor("run", "tasks.yaml");
  await expect(page.getByRole("row", { name: /delivered run_finished/ })).toBeVisible({ timeout: 20_000 });
  expect(heard.at(-1)?.body).toContain("run_finished");
  await page.getByRole("button", { name: "Turn off" }).click();
  await expect(page.getByRole("row", { name: /^off/ })).toContainText(url);
  await page.getByRole("button", { name: "Remove…" }).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await expect(page.getByText("This project has no webhooks.")).toBeVisible();
  expect(await world.api("GET", "/api/projects/webshop/webhooks")).toMatchObject({ webhooks: [] });
});
