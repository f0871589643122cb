"use strict";

// The code is behind the #, which no server and no log ever sees.
const code = location.hash.slice(1);
history.replaceState(null, "", "/open");
const words = document.getElementById("words");

async function open() {
  if (!code) throw new Error("This address opens the page only together with a code; `conductor serve --open` makes one.");
  const response = await fetch("/api/login/code", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (!response.ok) throw new Error((await response.json()).detail);
  location.replace("/");
}

open().catch((error) => { words.textContent = error.message; });
