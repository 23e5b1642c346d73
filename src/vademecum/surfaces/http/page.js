"use strict";
(() => {
  const EVERY = 5000, KEY = "vademecum.token";
  const byId = (id) => document.getElementById(id);
  const at = (tree, path) => path.split(".").reduce((node, key) => node?.[key], tree);

  function age(iso, now) {
    const minutes = Math.round((now - Date.parse(iso)) / 60000);
    if (minutes < 1) return "just now";
    if (minutes < 60) return `${minutes} min ago`;
    if (minutes < 48 * 60) return `${Math.round(minutes / 60)} h ago`;
    return `${Math.round(minutes / 1440)} days ago`;
  }

  function show(status) {
    const now = Date.parse(status.time);
    for (const node of document.querySelectorAll("[data-v]")) {
      const value = at(status, node.dataset.v);
      if (node.dataset.f === "bar") {
        node.setAttribute("aria-valuenow", value);
        node.classList.toggle("warn", value >= Number(node.dataset.warn));
        node.querySelector("rect").setAttribute("width", `${Math.min(100, (100 * value) / node.ariaValueMax)}%`);
      } else if (node.dataset.f === "age") {
        node.dateTime = value;
        node.textContent = age(value, now);
      } else {
        const text = typeof value === "number" ? value.toLocaleString("en-US") : value;
        const [one, many] = (node.dataset.unit ?? "").split(" ");
        node.textContent = many ? `${text} ${value === 1 ? one : many}` : text;
      }
    }
    byId("pending-hint").hidden = !status.pending;
  }

  async function refresh() {
    let words = "Serving";
    try {
      const answer = await fetch("status.json", { cache: "no-store" });
      if (!answer.ok) throw new Error((await answer.json()).error.message);
      const status = await answer.json();
      if (status.shape !== document.body.dataset.shape) return location.reload();
      show(status);
    } catch (error) {
      words = error instanceof TypeError ? "No answer: the server has stopped" : error.message;
    }
    document.body.classList.toggle("lost", words !== "Serving");
    if (byId("state").textContent !== words) byId("state").textContent = words;
  }

  async function tryToken(token) {
    if (!token) {
      sessionStorage.removeItem(KEY);
      byId("verdict").textContent = "It stays in this tab.";
      return;
    }
    try {
      const answer = await fetch("status.json", { headers: { Authorization: `Bearer ${token}` } });
      const body = await answer.json();
      if (answer.ok) sessionStorage.setItem(KEY, token);
      else sessionStorage.removeItem(KEY);
      byId("verdict").textContent = answer.ok
        ? `It is live: agent ${body.token.agent}, user ${body.token.user}, ${body.token.trust}.`
        : "It is not live: wrong, or revoked.";
    } catch {
      byId("verdict").textContent = "It could not be tried: the server does not answer.";
    }
  }

  for (const box of document.querySelectorAll(".copy")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(box.querySelector("code").textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    box.append(button);
  }
  byId("check").addEventListener("submit", (event) => {
    event.preventDefault();
    tryToken(byId("token").value.trim());
  });
  byId("token").value = sessionStorage.getItem(KEY) ?? "";
  if (byId("token").value) tryToken(byId("token").value);
  setInterval(() => { if (!document.hidden) refresh(); }, EVERY);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  refresh();
})();
