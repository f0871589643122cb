"use strict";

// The code is behind the #, which no server and no log ever sees; behind it, what is to be shown.
const [code, ...rest] = location.hash.slice(1).split("/");
history.replaceState(null, "", "/open");
const words = document.getElementById("words");

async function open() {
  if (!code) throw new Error("This address opens the page only together with a code; `conductor open` makes one.");
  const response = await fetch("/api/login/code", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (!response.ok) throw new Error((await response.json()).detail);
  // An address like //elsewhere leads nowhere.
  const wanted = new URL(`/${rest.join("/")}`, location.origin);
  location.replace(wanted.origin === location.origin ? wanted : "/");
}

open().catch((error) => { words.textContent = error.message; });
